// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"math"
	"strings"
	"testing"

	"tessera/e2e/check"
)

var (
	must     = check.Must
	equal    = check.Equal
	byNumber = check.ByNumber
	numbers  = check.Numbers
)

// eventually waits until check returns nil.
func eventually(t *testing.T, check func(context.Context) error) {
	t.Helper()
	must(t, waitUntil(patient, check))
}

// eventuallyAll waits until check returns nil, with the limit of waitUntilAll.
func eventuallyAll(t *testing.T, check func(context.Context) (int, error)) {
	t.Helper()
	must(t, waitUntilAll(check))
}

// waitUntilAll repeats check until it returns nil. check also returns its progress. Each new
// maximum restarts the limit, because a busy machine needs minutes for many pods.
func waitUntilAll(check func(context.Context) (int, error)) error {
	furthest, done := math.MinInt, false
	for !done {
		err := waitUntil(patient, func(ctx context.Context) error {
			so, err := check(ctx)
			done = err == nil
			if so > furthest {
				furthest = so
				return nil
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// listed splits the list of ids that a container gets: "3,17".
func listed(text string) []string { return strings.Split(strings.TrimSpace(text), ",") }
