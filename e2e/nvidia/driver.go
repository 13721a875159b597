// SPDX-License-Identifier: Apache-2.0

// Package nvidia puts the fake driver of test/nvml on a test's node: the library that the release
// binary loads as it would NVIDIA's, and the description of the GPUs that it tells of.
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

// Where distributions install the library, and where the fake one looks for its description.
const (
	libraryPath     = "/usr/lib64/libnvidia-ml.so.1"
	descriptionPath = "/usr/lib64/fake-nvml.yaml"
)

// MinorsFile is below /proc/driver.
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

// Install puts the driver of a node of demo/hardware, "8xa100", below a root. It goes with the test.
func Install(t *testing.T, root, name string) *Driver {
	t.Helper()
	path := filepath.Join(os.Getenv(HardwareVariable), name+".yaml")
	description, err := os.ReadFile(path)
	check.Must(t, err)
	return InstallAs(t, root, string(description))
}

// InstallAs puts the driver of a node that is described in the words of demo/hardware.
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

// ShowDevices makes what the kernel shows of the GPUs, below the same root: device nodes, as plain
// files, their NUMA nodes, and which nodes are whose MIG instances.
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

// Minors is the kernel's list of which nodes are whose MIG instances.
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

// Break says what is wrong from now on, in the words of test/nvml/faults.h; "" is nothing.
func (d *Driver) Break(faults string) {
	d.t.Helper()
	d.write(descriptionPath+".faults", faults)
}

// UUID is that of a GPU, by NVML's index.
func (d *Driver) UUID(index int) string { return d.gpus[index].UUID }

// UUIDs are those of all GPUs, in NVML's order, but for some.
func (d *Driver) UUIDs(without ...int) []string {
	var uuids []string
	for index, gpu := range d.gpus {
		if !slices.Contains(without, index) {
			uuids = append(uuids, gpu.UUID)
		}
	}
	return uuids
}

// Pick are the UUIDs of some GPUs.
func (d *Driver) Pick(indices ...int) []string {
	var uuids []string
	for _, index := range indices {
		uuids = append(uuids, d.UUID(index))
	}
	return uuids
}

// MIGs are the UUIDs of all MIG instances of a profile, in NVML's order.
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

// write replaces a file at once, as whoever reads it meanwhile needs it.
func (d *Driver) write(path, content string) {
	d.t.Helper()
	path = filepath.Join(d.root, path)
	check.Must(d.t, os.MkdirAll(filepath.Dir(path), 0o755))
	check.Must(d.t, os.WriteFile(path+".next", []byte(content), 0o755))
	check.Must(d.t, os.Rename(path+".next", path))
}
