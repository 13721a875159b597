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

// eventually waits until check has nothing to say.
func eventually(t *testing.T, check func(context.Context) error) {
	t.Helper()
	must(t, waitUntil(patient, check))
}

// eventuallyAll waits until check has nothing to say, as waitUntilAll does.
func eventuallyAll(t *testing.T, check func(context.Context) (int, error)) {
	t.Helper()
	must(t, waitUntilAll(check))
}

// waitUntilAll asks again and again until check has nothing to say, which tells how far things are as
// well. It is patient anew whenever they have come further: many take a busy machine minutes.
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

// listed are the ids of a list as containers get it: "3,17".
func listed(text string) []string { return strings.Split(strings.TrimSpace(text), ",") }
