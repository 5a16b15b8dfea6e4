package qtest

import "testing"

// TestFeatures runs the scenarios of testdata/features, which are written in
// the form of the openCypher TCK and add to it what it leaves out.
func TestFeatures(t *testing.T) {
	scenarios, err := LoadTCK("testdata/features")
	if err != nil {
		t.Fatal(err)
	}
	if len(scenarios) < 300 {
		t.Fatalf("%d scenarios, expected at least 300", len(scenarios))
	}
	d := On(engineStore(t))
	for _, s := range scenarios {
		if err := RunScenario(d, nil, s); err != nil {
			t.Errorf("%s: %v", s.ID(), err)
		}
	}
}
