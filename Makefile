.PHONY: test ci nightly bench

test:
	go test ./...

ci:
	.ci/run

# The long runs; each prints its seed.
nightly:
	HEDGEROW_CRASH_POINTS=20000 HEDGEROW_CRASH_SEEDS=100 go test -timeout 6h -run 'Crash' ./internal/...
	HEDGEROW_DIFF_STATEMENTS=20000 go test -timeout 6h -run 'TestDifferential' ./internal/query/qtest
	HEDGEROW_METAMORPHIC=1 go test -timeout 6h -run 'TestMetamorphic' ./internal/query/qtest ./cmd/hedgerow
	HEDGEROW_MIXED=10m go test -timeout 1h -run 'TestConcurrentMixed' .
	HEDGEROW_KILL_ROUNDS=50 go test -timeout 1h -run 'TestKill' ./cmd/hedgerow
	HEDGEROW_SCALE=200000 go test -timeout 1h -run 'TestSingleInserts' .
	HEDGEROW_SCALE=1000000 go test -timeout 1h -run 'TestUpdateOfManyRows' .
	for p in $$(grep -rl 'func Fuzz' --include='*_test.go' internal | xargs -n1 dirname | sort -u); do \
		for f in $$(grep -ho 'func Fuzz[A-Za-z0-9_]*' $$p/*_test.go | cut -c6-); do \
			go test -run '^$$' -fuzz "^$$f\$$" -fuzztime 10m ./$$p || exit 1; \
		done; \
	done

bench:
	go test -run '^$$' -bench . ./internal/... .
