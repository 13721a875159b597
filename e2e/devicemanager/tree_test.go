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

// startOn starts an agent on a node with simulated hardware: a program's, then changes of it.
func (k *kubelet) startOn(variable, config string, hardware ...string) *tree {
	k.t.Helper()
	a := k.newAgent(k.t.TempDir())
	node := &tree{k.t, variable, a.path("node")}
	must(k.t, os.MkdirAll(node.directory, 0o755))
	node.change(hardware...)
	a.configure(config)
	a.start()
	return node
}

// change writes the files of the hardware, then changes them: "mi300x", "lose", "3".
func (n *tree) change(arguments ...string) {
	n.t.Helper()
	command := exec.Command(os.Getenv(n.variable), append([]string{n.directory}, arguments...)...)
	if said, err := command.CombinedOutput(); err != nil {
		n.t.Fatalf("%v: %v: %s", command, err, said)
	}
}
