// SPDX-License-Identifier: Apache-2.0

package devicemanager

import (
	"reflect"
	"slices"
	"strconv"
	"testing"
	"time"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%s\n got: %+v\nwant: %+v", what, got, want)
	}
}

// eventually waits until check has nothing to say.
func eventually(t *testing.T, check func() error) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patient); ; <-tick.C {
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

// byNumber sorts ids by their value.
func byNumber(ids []string) []string {
	slices.SortFunc(ids, func(a, b string) int {
		x, _ := strconv.Atoi(a)
		y, _ := strconv.Atoi(b)
		return x - y
	})
	return ids
}

// numbers are the ids from first to last.
func numbers(first, last int) []string {
	var ids []string
	for n := first; n <= last; n++ {
		ids = append(ids, strconv.Itoa(n))
	}
	return ids
}
