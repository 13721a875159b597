// SPDX-License-Identifier: Apache-2.0

package devicemanager

import (
	"os/exec"
	"runtime"
	"sync"
	"syscall"
)

// starting takes what is to be done by a thread that lives as long as the program.
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

// startChild starts a process that the kernel kills when this program ends, however it ends. The kernel
// goes by the thread that started it, and of those Go ends some before the program.
func startChild(command *exec.Cmd) error {
	if command.SysProcAttr == nil {
		command.SysProcAttr = &syscall.SysProcAttr{}
	}
	command.SysProcAttr.Pdeathsig = syscall.SIGKILL
	started := make(chan error)
	starting() <- func() { started <- command.Start() }
	return <-started
}
