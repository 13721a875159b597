// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
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

// listed are the ids of a list as containers get it: "3,17".
func listed(text string) []string { return strings.Split(strings.TrimSpace(text), ",") }
