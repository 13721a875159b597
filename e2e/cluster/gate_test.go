// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

const gates = hookDirectory + "/grants"

// expectNoGate checks that a pod placed by HAMi's scheduler does not start, and gives this reason.
func (c *cluster) expectNoGate(t *testing.T, h *hami, why string) {
	t.Helper()
	c.expectRefused(t, h, c.createAsking(t, podAsking("gated", containerAsking("main", oneModest, stay))), why)
}

func TestWithoutCDINoContainerStartsWhereTheFileSystemTakesNoDeviceNodes(t *testing.T) {
	c := theCluster(t)
	prepare := func() {
		must(t, os.MkdirAll(gates, 0o700))
		must(t, unix.Mount("tmpfs", gates, "tmpfs", unix.MS_NODEV, ""))
		t.Cleanup(func() { must(t, unix.Unmount(gates, unix.MNT_DETACH)) })
	}
	h := c.startMatchedOn(t, prepare, "", matching)

	c.expectNoGate(t, h, gates+" is on a file system that is mounted with 'nodev'")
}

func TestWithoutCDINoContainerStartsWhereTheAgentMayMakeNoDeviceNodes(t *testing.T) {
	c := theCluster(t)
	h := c.startMatchedOn(t, func() {}, "", func(*testing.T, manifest) {})

	c.expectNoGate(t, h, "cannot make the device node "+gates+"/")
}
