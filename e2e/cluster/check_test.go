// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
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
func eventually(t *testing.T, check func(context.Context) error) {
	t.Helper()
	must(t, waitUntil(patient, check))
}

// listed are the ids of a list as containers get it: "3,17".
func listed(text string) []string { return strings.Split(strings.TrimSpace(text), ",") }

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
