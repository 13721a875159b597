// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"io"
	"net"
	"sync"
)

// serviceAddress is the address of the Service "kubernetes", at which pods find the API server. No
// kube-proxy runs here; a forwarder listens at the address instead.
const serviceAddress = "10.96.0.1"

// forwarder passes connections on to the API server until it is closed, which also closes them. Any
// goroutine may use it.
type forwarder struct {
	listener net.Listener
	mutex    sync.Mutex
	open     map[net.Conn]struct{} // nil once it is closed
}

// openService lets pods reach the API server, at the start and after closeService.
func (c *cluster) openService() error {
	listener, err := net.Listen("tcp", net.JoinHostPort(serviceAddress, "443"))
	if err != nil {
		return err
	}
	c.service = &forwarder{listener: listener, open: map[net.Conn]struct{}{}}
	go c.service.run()
	return nil
}

// closeService cuts pods off from the API server. kubelet connects to it directly and is not
// affected.
func (c *cluster) closeService() {
	c.service.close()
}

func (f *forwarder) run() {
	for {
		pod, err := f.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", net.JoinHostPort(nodeAddress, apiServerPort))
		if err != nil {
			pod.Close()
			continue
		}
		if f.keep(pod) && f.keep(server) {
			go f.pass(pod, server)
			go f.pass(server, pod)
		}
	}
}

// keep records a connection for close. If close has run already, keep closes the connection and
// returns false.
func (f *forwarder) keep(connection net.Conn) bool {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if f.open == nil {
		connection.Close()
		return false
	}
	f.open[connection] = struct{}{}
	return true
}

// pass copies one direction. The end of either direction closes both connections.
func (f *forwarder) pass(from, to net.Conn) {
	io.Copy(to, from)
	from.Close()
	to.Close()
	f.mutex.Lock()
	defer f.mutex.Unlock()
	delete(f.open, from)
}

func (f *forwarder) close() {
	f.listener.Close()
	f.mutex.Lock()
	defer f.mutex.Unlock()
	for connection := range f.open {
		connection.Close()
	}
	f.open = nil
}
