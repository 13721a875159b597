// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// These are offsets in a region, version 1.2, the file that the processes of a container share.
// They follow HAMi-core 8f3a89c and HAMi's monitor, not a header of Tessera: the test must not
// repeat an error of ours.
const (
	uuidsAt, uuidSize = 64, 96
	limitsAt          = 1600
	coresAt           = 1728
	slotsAt, slotSize = 1856, 1960
	endAt, endSize    = 2008896, 24

	usedAt, usedSize = 8, 64
	timeAt, timeSize = 1160, 48
	statusAt         = 1928
	mostDevices      = 16
	mostSlots        = 1024
	regionMagic      = 19920718
	smallestRegion   = 2008953
)

// region is what a reader finds in a region file.
type region struct {
	Magic, Major, Minor int32
	Devices             []limitOfDevice
	Slots               []slot // up to the highest slot ever used
	Switch, Priority    int32
	lastKernel          int64
}

type limitOfDevice struct {
	UUID         string
	Bytes, Cores uint64
}

// slot is one process's use of the first device.
type slot struct {
	PID, Status           int32
	Context, Module, Data uint64
	Total                 uint64
	sm                    uint64 // percent of the device's time
}

// readRegion trusts no word of the file and maps none of it, because a container can write anything
// there.
func readRegion(path string) (r region, err error) {
	file, err := os.Open(path)
	if err != nil {
		return r, err
	}
	defer file.Close()
	about, err := file.Stat()
	if err != nil {
		return r, err
	}
	if about.Size() < smallestRegion {
		return r, fmt.Errorf("%s has %d bytes", path, about.Size())
	}
	head, tail := make([]byte, slotsAt), make([]byte, endSize)
	if _, err := file.ReadAt(head, 0); err != nil {
		return r, err
	}
	if _, err := file.ReadAt(tail, endAt); err != nil {
		return r, err
	}
	r.Magic, r.Major, r.Minor = i32(head, 0), i32(head, 4), i32(head, 8)
	devices, processes := u64(head, 56), i32(tail, 0)
	if devices > mostDevices || processes < 0 || processes > mostSlots {
		return r, fmt.Errorf("%s has %d devices and %d processes", path, devices, processes)
	}
	for i := range int(devices) {
		uuid, _, _ := bytes.Cut(head[uuidsAt+uuidSize*i:][:uuidSize], []byte{0})
		r.Devices = append(r.Devices, limitOfDevice{string(uuid), u64(head, limitsAt+8*i), u64(head, coresAt+8*i)})
	}
	slots := make([]byte, slotSize*processes)
	if _, err := file.ReadAt(slots, slotsAt); err != nil {
		return r, err
	}
	for i := range int(processes) {
		r.Slots = append(r.Slots, readSlot(slots[slotSize*i:][:slotSize]))
	}
	r.Switch, r.Priority, r.lastKernel = i32(tail, 4), i32(tail, 12), int64(u64(tail, 16))
	return r, nil
}

func readSlot(from []byte) slot {
	used := from[usedAt:][:usedSize]
	return slot{PID: i32(from, 0), Status: i32(from, statusAt), Context: u64(used, 0), Module: u64(used, 8),
		Data: u64(used, 16), Total: u64(used, 32), sm: u64(from[timeAt:][:timeSize], 16)}
}

func i32(from []byte, at int) int32  { return int32(binary.LittleEndian.Uint32(from[at:])) }
func u64(from []byte, at int) uint64 { return binary.LittleEndian.Uint64(from[at:]) }

// regionOf finds a container's region as HAMi's monitor does. The directory must have at most two
// entries, and at most one of them may be a region.
func (c *cluster) regionOf(t *testing.T, name string) string {
	t.Helper()
	var named string
	c.hear(t, name, 1, "region %s", &named)
	found, err := filepath.Glob(filepath.Join(vgpuFiles, "containers", "*", filepath.Base(named)))
	must(t, err)
	if len(found) != 1 {
		t.Fatalf("%s of pod %s is %q on the node", named, name, found)
	}
	entries, err := os.ReadDir(filepath.Dir(found[0]))
	must(t, err)
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	equal(t, "what the container's directory has", names, []string{filepath.Base(named), "libvgpu.so"})
	return found[0]
}

func regionAt(t *testing.T, path string) region {
	t.Helper()
	r, err := readRegion(path)
	must(t, err)
	return r
}

// held returns the slots in use.
func (r region) held() (found []slot) {
	for _, one := range r.Slots {
		if one != (slot{}) {
			found = append(found, one)
		}
	}
	return found
}
