// SPDX-License-Identifier: Apache-2.0

// Package check has the assertions that all end-to-end tests share.
package check

import (
	"reflect"
	"slices"
	"strconv"
	"testing"
)

// Must ends the test on an error.
func Must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Equal ends the test when two values differ.
func Equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%s\n got: %+v\nwant: %+v", what, got, want)
	}
}

// ByNumber sorts ids in place by their numbers.
func ByNumber(ids []string) []string {
	slices.SortFunc(ids, func(a, b string) int {
		x, _ := strconv.Atoi(a)
		y, _ := strconv.Atoi(b)
		return x - y
	})
	return ids
}

// Numbers returns the ids from first to last, both included.
func Numbers(first, last int) []string {
	var ids []string
	for n := first; n <= last; n++ {
		ids = append(ids, strconv.Itoa(n))
	}
	return ids
}
