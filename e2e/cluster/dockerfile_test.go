// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// Targets of deploy/Dockerfile.
const (
	defaultTarget = "" // the last stage
	pluginTarget  = "nvidia-device-plugin"
	shellTarget   = "with-shell"
)

// stage is the part of a Dockerfile stage that decides how its image starts.
type stage struct {
	environment map[string]string
	user        string
	entrypoint  []string
	command     []string
}

// configurationOf returns the start configuration of a target of deploy/Dockerfile.
func configurationOf(target string) (v1.Config, error) {
	text, err := os.ReadFile(filepath.Join(deployDirectory, "Dockerfile"))
	if err != nil {
		return v1.Config{}, err
	}
	stages, err := readStages(string(text))
	if err != nil {
		return v1.Config{}, err
	}
	found, there := stages[target]
	if !there {
		return v1.Config{}, fmt.Errorf("deploy/Dockerfile has no target %q", target)
	}
	configuration := v1.Config{User: found.user, Entrypoint: found.entrypoint, Cmd: found.command}
	for _, name := range slices.Sorted(maps.Keys(found.environment)) {
		configuration.Env = append(configuration.Env, name+"="+found.environment[name])
	}
	return configuration, nil
}

// readStages returns the stages of a Dockerfile by name. The empty name is the last stage.
func readStages(text string) (map[string]stage, error) {
	stages := map[string]stage{}
	var current stage
	var name string
	for line := range strings.Lines(strings.ReplaceAll(text, "\\\n", " ")) {
		instruction, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		if instruction == "FROM" {
			var base string
			base, name, _ = strings.Cut(rest, " AS ")
			current = stages[base]
			current.environment = maps.Clone(current.environment)
		} else if err := current.take(instruction, rest); err != nil {
			return nil, fmt.Errorf("deploy/Dockerfile: %s %s: %w", instruction, rest, err)
		}
		stages[name] = current
	}
	stages[defaultTarget] = current
	return stages, nil
}

func (s *stage) take(instruction, rest string) error {
	switch instruction {
	case "ENV":
		if s.environment == nil {
			s.environment = map[string]string{}
		}
		for _, pair := range strings.Fields(rest) {
			name, value, _ := strings.Cut(pair, "=")
			s.environment[name] = value
		}
	case "USER":
		s.user = rest
	case "ENTRYPOINT":
		s.entrypoint = nil
		return json.Unmarshal([]byte(rest), &s.entrypoint)
	case "CMD":
		s.command = nil
		return json.Unmarshal([]byte(rest), &s.command)
	}
	return nil
}
