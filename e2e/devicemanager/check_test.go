// SPDX-License-Identifier: Apache-2.0

package devicemanager

import (
	"testing"
	"time"

	"tessera/e2e/check"
)

var (
	must     = check.Must
	equal    = check.Equal
	byNumber = check.ByNumber
	numbers  = check.Numbers
)

// eventually waits until check returns nil.
func eventually(t *testing.T, check func() error) {
	t.Helper()
	eventuallyIn(t, patient, check)
}

func eventuallyIn(t *testing.T, limit time.Duration, check func() error) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(limit); ; <-tick.C {
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}
