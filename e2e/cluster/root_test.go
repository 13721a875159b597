// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"tessera/e2e/nvidia"
)

// These are paths below the new root, and the node's name and addresses.
const (
	programsDirectory = "/e2e/programs"
	deployDirectory   = "/e2e/deploy"
	binaryPath        = "/e2e/tessera"
	tlsName           = "libtessera-tls.so" // next to the binary
	tlsPath           = "/e2e/" + tlsName
	sbomName          = "tessera.cdx.json" // next to the binary
	libraryPath       = "/e2e/libnvidia-ml.so.1"
	hardwareDirectory = "/e2e/hardware"
	mpsPath           = "/e2e/mps"
	cudaPath          = "/e2e/libcuda.so.1"
	limiterPath       = "/e2e/libvgpu.so"
	spinPath          = "/e2e/spin"
	simPath           = "/e2e/tessera-sim"
	schedulerPath     = "/e2e/tessera-scheduler"
	nodeName          = "node-1"
	nodeAddress       = "10.88.0.1"
	bridgeAddress     = "02:00:0a:58:00:01"
	podSubnet         = "10.88.0.0/16"
)

// makeRoot makes a file system in memory the root of this mount namespace. It shows the machine's
// programs and libraries. All directories that a node writes to are empty.
func makeRoot() error {
	// The file system is mounted over /tmp, which exists everywhere. The needed files may be below
	// /tmp, so they are opened before the mount.
	needed := map[string]string{
		os.Getenv(programsVariable): programsDirectory,
		os.Getenv(deployVariable):   deployDirectory,
		os.Getenv(binaryVariable):   binaryPath,
		os.Getenv(logsVariable):     logsDirectory,
		os.Getenv(mpsVariable):      mpsPath,
		os.Getenv(cudaVariable):     cudaPath,
		os.Getenv(limiterVariable):  limiterPath,
		os.Getenv(spinVariable):     spinPath,
		os.Getenv(simVariable):      simPath,

		os.Getenv(schedulerVariable): schedulerPath,

		filepath.Join(filepath.Dir(os.Getenv(binaryVariable)), tlsName):  tlsPath,
		filepath.Join(filepath.Dir(os.Getenv(binaryVariable)), sbomName): "/e2e/" + sbomName,

		os.Getenv(nvidia.LibraryVariable):  libraryPath,
		os.Getenv(nvidia.HardwareVariable): hardwareDirectory,
	}
	opened := map[string]string{}
	for from, to := range needed {
		fd, err := syscall.Open(from, syscall.O_RDONLY, 0)
		if err != nil {
			return fmt.Errorf("%s: %w", from, err)
		}
		defer syscall.Close(fd)
		opened[fmt.Sprintf("/proc/self/fd/%d", fd)] = to
	}
	const root = "/tmp"
	if err := mount("", "/", "", syscall.MS_PRIVATE|syscall.MS_REC, ""); err != nil {
		return err
	}
	if err := mount("proc", "/proc", "proc", 0, ""); err != nil {
		return err
	}
	if err := mount("tmpfs", root, "tmpfs", 0, "mode=0755"); err != nil {
		return err
	}
	for from, to := range opened {
		if err := bind(from, root+to); err != nil {
			return err
		}
	}
	for _, name := range []string{"/dev", "/bin", "/sbin", "/lib", "/lib32", "/lib64"} {
		if err := show(name, root); err != nil {
			return err
		}
	}
	for _, name := range []string{"/usr", "/etc"} {
		if err := cover(name, root); err != nil {
			return err
		}
	}
	for name, mode := range map[string]os.FileMode{
		"/proc": 0o555, "/sys": 0o555, "/run": 0o755, "/var/lib": 0o755, "/var/log": 0o755,
		"/tmp": 0o777 | os.ModeSticky, "/old": 0o700, "/root": 0o700,
	} {
		if err := errors.Join(os.MkdirAll(root+name, 0o755), os.Chmod(root+name, mode)); err != nil {
			return err
		}
	}
	return inOrder(
		func() error { return os.Symlink("/run", root+"/var/run") },
		func() error { return mount("proc", root+"/proc", "proc", 0, "") },
		func() error { return mount("sysfs", root+"/sys", "sysfs", 0, "") },
		func() error { return bind(cgroupRoot, root+cgroupRoot) },
		func() error { return syscall.PivotRoot(root, root+"/old") },
		func() error { return os.Chdir("/") },
		func() error { return syscall.Unmount("/old", syscall.MNT_DETACH) },
		func() error { return os.Remove("/old") },
		// kubelet's volumes must reach containers, which needs shared mounts.
		func() error { return mount("", "/", "", syscall.MS_SHARED|syscall.MS_REC, "") },
		func() error { return syscall.Sethostname([]byte(nodeName)) },
		newBootID,
		func() error { return mount(bootIDFile, bootIDOfKernel, "", syscall.MS_BIND, "") },
		makeNetwork,
	)
}

// inOrder runs the steps up to the first that fails.
func inOrder(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func mount(source, target, kind string, flags uintptr, data string) error {
	if err := syscall.Mount(source, target, kind, flags, data); err != nil {
		return fmt.Errorf("mounting %s: %w", target, err)
	}
	return nil
}

// bind mounts a file or directory, with all mounts below it, at a second path.
func bind(from, to string) error {
	about, err := os.Stat(from)
	if err != nil {
		return err
	}
	if about.IsDir() {
		err = os.MkdirAll(to, 0o755)
	} else {
		err = errors.Join(os.MkdirAll(filepath.Dir(to), 0o755), os.WriteFile(to, nil, 0o644))
	}
	if err != nil {
		return err
	}
	return mount(from, to, "", syscall.MS_BIND|syscall.MS_REC, "")
}

// show makes one of the machine's own directories visible under the new root. It copies a link as a
// link.
func show(name, root string) error {
	about, err := os.Lstat(name)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return err
	case about.Mode().Type() == os.ModeSymlink:
		target, err := os.Readlink(name)
		return errors.Join(err, os.Symlink(target, root+name))
	}
	return bind(name, root+name)
}

// cover makes a directory visible under the new root. An overlay takes the writes, and the
// machine's directory stays unchanged.
func cover(name, root string) error {
	written := root + "/e2e/written" + name
	for _, path := range []string{written + "/upper", written + "/work", root + name} {
		if err := os.MkdirAll(path, 0o755); err != nil {
			return err
		}
	}
	return mount("overlay", root+name, "overlay", 0,
		"lowerdir="+name+",upperdir="+written+"/upper,workdir="+written+"/work")
}

// makeNetwork gives the node its address on the bridge of its pods.
func makeNetwork() error {
	for _, arguments := range [][]string{
		{"link", "set", "lo", "up"},
		// A bridge without an address of its own takes the lowest one of its ports. That changes as
		// pods come and go, and the remaining pods would use the former one for a minute.
		{"link", "add", "cni0", "address", bridgeAddress, "type", "bridge"},
		{"address", "add", nodeAddress + "/16", "dev", "cni0"},
		{"address", "add", serviceAddress + "/32", "dev", "cni0"},
		{"link", "set", "cni0", "up"},
		{"route", "add", "default", "dev", "cni0"},
	} {
		if output, err := exec.Command("ip", arguments...).CombinedOutput(); err != nil {
			return fmt.Errorf("ip %v: %w: %s", arguments, err, output)
		}
	}
	return nil
}
