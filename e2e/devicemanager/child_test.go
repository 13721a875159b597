// SPDX-License-Identifier: Apache-2.0

package devicemanager

import (
	"os/exec"
	"runtime"
	"sync"
	"syscall"
)

// starting returns a channel of work for one thread that lives as long as the program.
var starting = sync.OnceValue(func() chan<- func() {
	work := make(chan func())
	go func() {
		runtime.LockOSThread()
		for each := range work {
			each()
		}
	}()
	return work
})

// startChild starts a process that the kernel kills when this program ends in any way. The kernel
// kills it as soon as the thread that started it ends, and Go ends some threads early. So one
// lasting thread starts all children.
func startChild(command *exec.Cmd) error {
	if command.SysProcAttr == nil {
		command.SysProcAttr = &syscall.SysProcAttr{}
	}
	command.SysProcAttr.Pdeathsig = syscall.SIGKILL
	started := make(chan error)
	starting() <- func() { started <- command.Start() }
	return <-started
}
