package store

import (
	"reflect"
	"testing"
)

// Every field takes part in sums.
func TestCountersAddDifference(t *testing.T) {
	var now, before, sum Counters
	v := reflect.ValueOf(&now).Elem()
	for i := range v.NumField() {
		v.Field(i).SetInt(int64(i + 3))
		reflect.ValueOf(&before).Elem().Field(i).SetInt(1)
	}
	sum.AddDifference(&now, &before)
	for i := range v.NumField() {
		if got := reflect.ValueOf(sum).Field(i).Int(); got != int64(i+2) {
			t.Errorf("%s is %d, want %d", v.Type().Field(i).Name, got, i+2)
		}
	}
}
