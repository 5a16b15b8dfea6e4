module github.com/hedgerowdb/hedgerow

go 1.26
