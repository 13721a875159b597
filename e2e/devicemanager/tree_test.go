// SPDX-License-Identifier: Apache-2.0

package devicemanager

import (
	"os"
	"os/exec"
	"testing"
)

// tree is the simulated hardware of an agent's node, as a tree of files. A program of test/ writes
// it; several may write below one directory.
type tree struct {
	t         *testing.T
	variable  string // of the environment, with the program
	directory string
}

// change writes the files of the hardware, then changes them: "mi300x", "lose", "3".
func (n *tree) change(arguments ...string) {
	n.t.Helper()
	command := exec.Command(os.Getenv(n.variable), append([]string{n.directory}, arguments...)...)
	if said, err := command.CombinedOutput(); err != nil {
		n.t.Fatalf("%v: %v: %s", command, err, said)
	}
}
