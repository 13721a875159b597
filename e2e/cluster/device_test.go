// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// number is the major and minor number of a device node.
type number struct{ major, minor uint32 }

// These devices have no effect when a process opens them. Unlike /dev/null, runtimes do not allow
// them by default: loop-control, fuse, kvm, autofs, cpu_dma_latency, hpet.
var harmless = []number{{10, 237}, {10, 229}, {10, 232}, {10, 235}, {10, 259}, {10, 228}}

// makeNodes makes a device node for each name, each of a different device. It skips the test if the
// machine has too few of them. The test's end removes the directory.
func makeNodes(t *testing.T, directory string, names ...string) map[string]number {
	t.Helper()
	must(t, os.MkdirAll(directory, 0o755))
	t.Cleanup(func() { must(t, os.RemoveAll(directory)) })
	made := map[string]number{}
	left := harmless
	for _, name := range names {
		path := filepath.Join(directory, name)
		for made[name] == (number{}) {
			if len(left) == 0 {
				t.Skipf("this machine has too few of the devices %v", harmless)
			}
			device := left[0]
			left = left[1:]
			must(t, unix.Mknod(path, unix.S_IFCHR|0o666, int(unix.Mkdev(device.major, device.minor))))
			if file, err := os.OpenFile(path, os.O_RDWR, 0); err == nil {
				file.Close()
				made[name] = device
			} else {
				must(t, os.Remove(path))
			}
		}
	}
	return made
}

// tryToOpen returns a script that prints whether the container may open a device, through a node of
// its own.
func tryToOpen(name string, device number) string {
	return fmt.Sprintf("mknod /tmp/%[1]s c %[2]d %[3]d; if (: <>/tmp/%[1]s) 2>/dev/null; "+
		"then echo %[1]s opens; else echo %[1]s does not open; fi; ", name, device.major, device.minor)
}

func TestAContainerOpensTheDeviceFileItWasGrantedAndNotTheOther(t *testing.T) {
	const directory = "/var/lib/e2e-devices"
	c := theCluster(t)
	nodes := makeNodes(t, directory, "line-a", "line-b")
	c.installAgent(t, serving(t, `resources:
  - name: example.com/line
    env: LINE_PATHS
    files:
      paths: ["`+directory+`/line-*"]
`, directory))
	// The script writes its output at once, so that the test reads a complete log.
	script := `{ echo "$LINE_PATHS"; ls ` + directory + `; (: <>"$LINE_PATHS") && echo it opens; ` +
		tryToOpen("line-a", nodes["line-a"]) + tryToOpen("line-b", nodes["line-b"]) +
		`} >/tmp/said 2>&1; cat /tmp/said; `
	both := map[string]bool{}

	for _, name := range []string{"one", "two"} {
		pod := podOf(name, 0, script+stay)
		pod.Spec.Containers[0].Resources.Limits["example.com/line"] = *resource.NewQuantity(1, resource.DecimalSI)
		c.create(t, pod)
		c.waitForPhase(t, name, v1.PodRunning)
		both[c.output(t, name)] = true
	}

	const a, b = directory + "/line-a", directory + "/line-b"
	equal(t, "what the pods say", both, map[string]bool{
		a + "\nline-a\nit opens\nline-a opens\nline-b does not open\n": true,
		b + "\nline-b\nit opens\nline-a does not open\nline-b opens\n": true,
	})
}
