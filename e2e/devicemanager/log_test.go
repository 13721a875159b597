// SPDX-License-Identifier: Apache-2.0

package devicemanager

import (
	"bytes"
	"flag"
	"strings"
	"sync"
	"testing"

	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
)

// text collects the output of a program. Any goroutine may use it.
type text struct {
	mutex sync.Mutex
	bytes.Buffer
}

func (t *text) Write(p []byte) (int, error) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return t.Buffer.Write(p)
}

func (t *text) String() string {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return t.Buffer.String()
}

func (t *text) count(part string) int { return strings.Count(t.String(), part) }

func (t *text) take() string {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	defer t.Buffer.Reset()
	return t.Buffer.String()
}

// kubeletLog is the log of Kubernetes' code since the test began.
var kubeletLog text

func sendKubeletLogToTests() {
	var flags flag.FlagSet // before 1.36 klog, not the logger, has the verbosity
	klog.InitFlags(&flags)
	flags.Set("v", "2")
	configuration := textlogger.NewConfig(textlogger.Output(&kubeletLog), textlogger.Verbosity(2))
	klog.SetLoggerWithOptions(textlogger.NewLogger(configuration), klog.ContextualLogger(true))
}

// showKubeletLogOnFailure starts a new log for the test, and prints it if the test fails.
func showKubeletLogOnFailure(t *testing.T) {
	kubeletLog.take()
	t.Cleanup(func() {
		if log := kubeletLog.take(); t.Failed() {
			t.Logf("kubelet's log:\n%s", log)
		}
	})
}
