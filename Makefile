.PHONY: test ci nightly bench

test:
	go test ./...

ci:
	.ci/run

# The long runs; each prints its seed.
nightly:
	HEDGEROW_CRASH_POINTS=20000 go test -timeout 6h -run 'Crash' ./internal/...
	HEDGEROW_DIFF=20000 go test -timeout 6h -run 'Differential|Reference' ./internal/query/...
	HEDGEROW_KILL_ROUNDS=50 go test -timeout 1h -run 'Kill' ./internal/... ./cmd/...
	for p in $$(grep -rl 'func Fuzz' --include='*_test.go' internal | xargs -n1 dirname | sort -u); do \
		for f in $$(grep -ho 'func Fuzz[A-Za-z0-9_]*' $$p/*_test.go | cut -c6-); do \
			go test -run '^$$' -fuzz "^$$f\$$" -fuzztime 10m ./$$p || exit 1; \
		done; \
	done

bench:
	go test -run '^$$' -bench . ./internal/... .
