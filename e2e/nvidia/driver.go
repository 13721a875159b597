// SPDX-License-Identifier: Apache-2.0

// Package nvidia installs the fake driver of test/nvml on a test's node. The driver is the library,
// which the release binary loads like NVIDIA's own, and the description of the GPUs that it
// reports.
package nvidia

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/util/yaml"
	"tessera/e2e/check"
)

const (
	LibraryVariable  = "TESSERA_E2E_NVML"     // the fake libnvidia-ml.so.1
	HardwareVariable = "TESSERA_E2E_HARDWARE" // the folder demo/hardware
)

// Distributions install the library at libraryPath. The fake one reads its description at
// descriptionPath.
const (
	libraryPath     = "/usr/lib64/libnvidia-ml.so.1"
	descriptionPath = "/usr/lib64/fake-nvml.yaml"
)

// MinorsFile is the path, below /proc/driver, of the kernel's list of MIG device nodes.
const MinorsFile = "nvidia-caps/mig-minors"

// Driver is the fake driver of one node. It belongs to the goroutine of a test.
type Driver struct {
	t    *testing.T
	root string // of the node's file system
	gpus []gpu
}

type gpu struct {
	UUID, PCI string
	NUMA      *int
	MIG       []instance
}

type instance struct {
	UUID, Profile string
	GI, CI        int
}

// Install puts the driver of a node of demo/hardware, such as "8xa100", below a root. The test's
// end removes it.
func Install(t *testing.T, root, name string) *Driver {
	t.Helper()
	path := filepath.Join(os.Getenv(HardwareVariable), name+".yaml")
	description, err := os.ReadFile(path)
	check.Must(t, err)
	return InstallAs(t, root, string(description))
}

// InstallAs does the same with a description in the format of demo/hardware.
func InstallAs(t *testing.T, root, description string) *Driver {
	t.Helper()
	var hardware struct{ GPUs []gpu }
	check.Must(t, yaml.Unmarshal([]byte(description), &hardware))
	d := &Driver{t, root, hardware.GPUs}
	library, err := os.ReadFile(os.Getenv(LibraryVariable))
	check.Must(t, err)
	d.write(libraryPath, string(library))
	d.write(descriptionPath, description)
	t.Cleanup(func() {
		for _, path := range []string{libraryPath, descriptionPath, descriptionPath + ".faults"} {
			os.Remove(filepath.Join(root, path))
		}
	})
	return d
}

// ShowDevices makes the kernel's files of the GPUs below the same root: device nodes as plain
// files, NUMA nodes, and the list of MIG nodes.
func (d *Driver) ShowDevices() {
	d.t.Helper()
	for _, name := range []string{"nvidiactl", "nvidia-uvm", "nvidia-uvm-tools"} {
		d.write("/dev/"+name, "")
	}
	for index, gpu := range d.gpus {
		d.write(fmt.Sprintf("/dev/nvidia%d", index), "")
		if gpu.NUMA != nil {
			d.write("/sys/bus/pci/devices/"+gpu.PCI+"/numa_node", fmt.Sprintln(*gpu.NUMA))
		}
	}
	d.write("/proc/driver/"+MinorsFile, d.Minors())
}

// Minors returns the kernel's list of MIG device nodes.
func (d *Driver) Minors() string {
	minors, next := "config 1\nmonitor 2\n", 3
	for index, gpu := range d.gpus {
		for _, mig := range gpu.MIG {
			of := fmt.Sprintf("gpu%d/gi%d", index, mig.GI)
			minors += fmt.Sprintf("%s/access %d\n%s/ci%d/access %d\n", of, next, of, mig.CI, next+1)
			next += 2
		}
	}
	return minors
}

// Break sets the driver's faults from now on, in the format of test/nvml/faults.h. "" means no
// fault.
func (d *Driver) Break(faults string) {
	d.t.Helper()
	d.write(descriptionPath+".faults", faults)
}

// UUID returns the UUID of the GPU with this NVML index.
func (d *Driver) UUID(index int) string { return d.gpus[index].UUID }

// UUIDs returns the UUIDs of all GPUs in NVML's order, without those of the given indices.
func (d *Driver) UUIDs(without ...int) []string {
	var uuids []string
	for index, gpu := range d.gpus {
		if !slices.Contains(without, index) {
			uuids = append(uuids, gpu.UUID)
		}
	}
	return uuids
}

// Pick returns the UUIDs of the GPUs with these indices.
func (d *Driver) Pick(indices ...int) []string {
	var uuids []string
	for _, index := range indices {
		uuids = append(uuids, d.UUID(index))
	}
	return uuids
}

// MIGs returns the UUIDs of all MIG instances of a profile, in NVML's order.
func (d *Driver) MIGs(profile string) []string {
	var uuids []string
	for _, gpu := range d.gpus {
		for _, mig := range gpu.MIG {
			if mig.Profile == profile {
				uuids = append(uuids, mig.UUID)
			}
		}
	}
	return uuids
}

// write replaces a file atomically, because the agent may read it at any moment.
func (d *Driver) write(path, content string) {
	d.t.Helper()
	path = filepath.Join(d.root, path)
	check.Must(d.t, os.MkdirAll(filepath.Dir(path), 0o755))
	check.Must(d.t, os.WriteFile(path+".next", []byte(content), 0o755))
	check.Must(d.t, os.Rename(path+".next", path))
}
