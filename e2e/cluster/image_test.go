// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"

	"github.com/distribution/reference"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

const (
	agentImage   = "tessera:0.1.0"                      // as in deploy/examples/daemonset.yaml
	pluginImage  = "tessera-nvidia-device-plugin:0.1.0" // as in deploy/README.md
	shellImage   = "tessera-with-shell:0.1.0"           // as in deploy/README.md
	busyboxImage = "busybox:1.36"                       // as in deploy/examples/pod.yaml
	pauseImage   = "e2e.test/pause:1"

	kubeSchedulerImage = "registry.k8s.io/kube-scheduler:v1.36.3" // as in deploy/scheduler/
)

// files are the contents of an image by path.
type files map[string]file

type file struct {
	header  tar.Header // without name and size
	content []byte
}

// importImages builds the images and imports them into containerd, because the tests have no
// registry.
func importImages() error {
	agent, err := agentFiles()
	if err != nil {
		return err
	}
	asAgent, err := configurationOf(defaultTarget)
	if err != nil {
		return err
	}
	asPlugin, err := configurationOf(pluginTarget)
	if err != nil {
		return err
	}
	asShell, err := configurationOf(shellTarget)
	if err != nil {
		return err
	}
	busybox, err := busyboxFiles()
	if err != nil {
		return err
	}
	pause, err := programFile(filepath.Join(programsDirectory, "pause"))
	if err != nil {
		return err
	}
	scheduler, err := kubeSchedulerFiles()
	if err != nil {
		return err
	}
	path := []string{"PATH=/usr/bin:/bin"}
	for _, image := range []struct {
		name          string
		content       files
		configuration v1.Config
	}{
		{agentImage, agent, asAgent},
		{pluginImage, agent, asPlugin},
		{shellImage, withShell(agent, busybox), asShell},
		{busyboxImage, busybox, v1.Config{Cmd: []string{"sh"}, Env: path}},
		{kubeSchedulerImage, scheduler, v1.Config{Env: path}},
		{pauseImage, files{"pause": pause}, v1.Config{Entrypoint: []string{"/pause"}, User: "65535:65535"}},
	} {
		if err := importImage(image.name, image.content, image.configuration); err != nil {
			return fmt.Errorf("the image %s: %w", image.name, err)
		}
	}
	return nil
}

// kubeSchedulerFiles returns the tests' own build of kube-scheduler, and its libraries.
func kubeSchedulerFiles() (files, error) {
	node := filepath.Join(programsDirectory, "node") // its own name selects the program
	libraries, err := librariesOf(node)
	if err != nil {
		return nil, err
	}
	paths := map[string]string{"usr/bin/kube-scheduler": node}
	for _, library := range libraries {
		paths[strings.TrimPrefix(library, "/")] = library
	}
	content := files{}
	return content, content.add(paths)
}

// agentFiles returns the files of the agent's image by deploy/image.txt, as tools/image makes them.
func agentFiles() (files, error) {
	list, err := os.ReadFile(filepath.Join(deployDirectory, "image.txt"))
	if err != nil {
		return nil, err
	}
	content, paths := files{}, map[string]string{}
	var libraries []string
	for line := range strings.Lines(string(list)) {
		words := strings.Fields(line)
		if len(words) < 2 || words[0] == "#" {
			continue
		}
		name, built := strings.TrimPrefix(words[0], "/"), "/e2e/"+filepath.Base(words[len(words)-1])
		var found []string
		switch {
		case name == "libraries":
			found, err = librariesOf(built)
		case name == "libraries-like":
			found, err = filepath.Glob(words[1])
		case words[1] == "->":
			content[name] = link(words[2])
		case len(words) == 2:
			mode, parsed := strconv.ParseInt(words[1], 8, 64)
			content[name], err = directory(mode), parsed
		default:
			paths[name] = built
		}
		if err != nil {
			return nil, fmt.Errorf("deploy/image.txt: %s: %w", line, err)
		}
		libraries = append(libraries, found...)
	}
	for _, library := range libraries {
		paths[strings.TrimPrefix(library, "/")] = library
	}
	return content, content.add(paths)
}

// withShell adds a shell and the hook of HAMi's chart to the agent's files.
func withShell(agent, busybox files) files {
	content := maps.Clone(agent)
	content["bin/busybox"] = busybox["bin/busybox"]
	for _, name := range []string{"sh", "cat", "sleep"} {
		content["bin/"+name] = link("busybox")
		content["usr/bin/"+name] = link("/bin/busybox")
	}
	hook := "#!/bin/sh\nexit 0\n"
	content["k8s-vgpu/bin/vgpu-init.sh"] = file{tar.Header{Mode: 0o755, Typeflag: tar.TypeReg}, []byte(hook)}
	return content
}

// librariesOf returns the shared libraries of the files, direct and indirect, with the loader. ldd
// finds them; missing ones are left out.
func librariesOf(paths ...string) (libraries []string, err error) {
	for _, path := range paths {
		names, err := exec.Command("ldd", path).Output()
		if err != nil {
			return nil, fmt.Errorf("ldd %s: %w", path, err)
		}
		libraries = append(libraries, regexp.MustCompile(`/[^ ]*`).FindAllString(string(names), -1)...)
	}
	return libraries, nil
}

// add reads programs into the image. The keys are their paths there.
func (f files) add(paths map[string]string) (err error) {
	for name, path := range paths {
		if f[name], err = programFile(path); err != nil {
			return err
		}
	}
	return nil
}

func busyboxFiles() (files, error) {
	path, err := exec.LookPath("busybox")
	if err != nil {
		return nil, err
	}
	names, err := exec.Command(path, "--list").Output()
	if err != nil {
		return nil, err
	}
	content := files{"tmp": directory(0o1777)}
	for _, name := range strings.Fields(string(names)) {
		content["bin/"+name] = link("busybox")
	}
	content["bin/busybox"], err = programFile(path)
	return content, err
}

func directory(mode int64) file {
	return file{header: tar.Header{Typeflag: tar.TypeDir, Mode: mode}}
}

func link(target string) file {
	return file{header: tar.Header{Typeflag: tar.TypeSymlink, Linkname: target}}
}

func programFile(path string) (file, error) {
	content, err := os.ReadFile(path)
	return file{tar.Header{Typeflag: tar.TypeReg, Mode: 0o755}, content}, err
}

// importImage writes an OCI archive of one layer and imports it into containerd.
func importImage(name string, content files, configuration v1.Config) error {
	full, err := reference.ParseDockerRef(name) // runtimes complete short names in the same way
	if err != nil {
		return err
	}
	image, err := makeImage(content, configuration)
	if err != nil {
		return err
	}
	scratch, err := os.MkdirTemp("", "image")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	tree := filepath.Join(scratch, "layout")
	index, err := layout.Write(tree, empty.Index)
	if err != nil {
		return err
	}
	annotations := map[string]string{"io.containerd.image.name": full.String()}
	if err := index.AppendImage(image, layout.WithAnnotations(annotations)); err != nil {
		return err
	}
	archive, err := os.Create(filepath.Join(scratch, "image.tar"))
	if err != nil {
		return err
	}
	defer archive.Close()
	writer := tar.NewWriter(archive)
	if err := writer.AddFS(os.DirFS(tree)); err != nil {
		return err
	}
	if err := writer.Close(); err != nil {
		return err
	}
	output, err := program("ctr", "--namespace=k8s.io", "images", "import", archive.Name()).CombinedOutput()
	if err != nil {
		return fmt.Errorf("ctr: %w: %s", err, output)
	}
	return nil
}

func makeImage(content files, configuration v1.Config) (v1.Image, error) {
	var packed bytes.Buffer
	writer := tar.NewWriter(&packed)
	for name, file := range content {
		file.header.Name, file.header.Size = name, int64(len(file.content))
		if err := writer.WriteHeader(&file.header); err != nil {
			return nil, err
		}
		if _, err := writer.Write(file.content); err != nil {
			return nil, err
		}
	}
	if err := writer.Close(); err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(packed.Bytes())), nil
	})
	if err != nil {
		return nil, err
	}
	image, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		return nil, err
	}
	described, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	described = described.DeepCopy()
	described.OS, described.Architecture, described.Config = "linux", runtime.GOARCH, configuration
	return mutate.ConfigFile(image, described)
}
