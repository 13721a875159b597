{{- /* SPDX-License-Identifier: Apache-2.0 */ -}}

{{- /* A configuration as text in one shape, without comments: each key begins a line. As it is, if it is no YAML. */ -}}
{{- define "tessera.blockText" -}}
{{- $one := ternary (fromYaml (toString .)) . (kindIs "string" .) -}}
{{- if and (kindIs "string" .) $one.Error -}}{{- . -}}{{- else -}}{{- toYaml $one -}}{{- end -}}
{{- end -}}

{{- /* What the agent is, from whose configuration it is and from what that has. Arguments: root, v. */ -}}
{{- define "tessera.agentValues" -}}
{{- $v := .v -}}{{- $found := $v.found -}}{{- $set := $v.set -}}
{{- $keys := .root.Files.Get "files/keys.yaml" | fromYaml -}}
{{- $config := $set.agent.config -}}
{{- $text := ternary $config (toYaml $config) (kindIs "string" $config) -}}
{{- $native := dict -}}
{{- if $config -}}
  {{- $native = ternary (fromYaml $text) $config (kindIs "string" $config) -}}
  {{- if $native.Error -}}{{- fail (printf "agent.config is no YAML: %s" $native.Error) -}}{{- end -}}
  {{- if eq (toString $native.version) "v1" -}}
    {{- fail "agent.config is a configuration of NVIDIA's plugin: write it as config.map.config" -}}
  {{- end -}}
  {{- if not (kindIs "string" $config) -}}
    {{- $text = mergeOverwrite (dict "version" "tessera/v1" "log" (dict "format" "json")) $config | toYaml -}}
  {{- end -}}
{{- end -}}

{{- /* NVIDIA's configurations, from its chart or from the GPU operator's section. */ -}}
{{- $map := get $found "config.map" | default (ternary (get $found "devicePlugin.config.data") nil (eq (toString (get $found "devicePlugin.config.create")) "true")) | default dict -}}
{{- $texts := dict -}}
{{- range $name, $one := $map -}}{{- $_ := set $texts $name (ternary $one (toYaml $one) (kindIs "string" $one)) -}}{{- end -}}
{{- $external := coalesce (get $found "config.name") (ternary (get $found "devicePlugin.config.name") nil (empty $texts)) $set.agent.configMap.name -}}
{{- $default := coalesce (get $found "config.default") (get $found "devicePlugin.config.default") -}}
{{- $follows := or (gt (len $texts) 1) (hasKey $found "config.name") (and (hasKey $found "devicePlugin.config.name") (empty $texts)) -}}
{{- $single := ternary (first (keys $texts)) ($set.agent.configMap.key | default "config.yaml") (eq (len $texts) 1) -}}
{{- $blocks := list -}}
{{- range $texts -}}{{- $blocks = append $blocks (include "tessera.blockText" .) -}}{{- end -}}
{{- $own := "" -}}
{{- if $config -}}{{- $own = include "tessera.blockText" $config -}}{{- end -}}
{{- $all := append $blocks $own | join "\n" -}}

{{- $isNative := eq $v.style "tessera" -}}
{{- $asked := join "," (($v.scheduler.settings.policies | default dict).devices | default list) -}}

{{- /* Variables: by keys, then the user's. Their values decide on mounts and rights below. */ -}}
{{- $keyed := list -}}
{{- if not $isNative -}}
  {{- range $path, $key := $keys -}}
    {{- if and $key.env (hasKey $found $path) (not (and (hasSuffix "vidiaDriverRoot" $path) (eq (toString (get $found $path)) "auto"))) (or (ne $key.env "MPS_ROOT") (eq $v.style "nvidia")) -}}
      {{- $value := get $found $path -}}
      {{- $keyed = append $keyed (dict "name" $key.env "value" (ternary (join "," $value) (toString $value) (kindIs "slice" $value))) -}}
    {{- end -}}
  {{- end -}}
{{- end -}}
{{- if and (eq $v.style "hami") (eq $asked "topology-aware") -}}{{- $keyed = append $keyed (dict "name" "ENABLE_TOPOLOGY_SCORE" "value" "true") -}}{{- end -}}
{{- $more := get (get (get $found "devicePlugin.containers" | default dict) "main" | default dict) "env" | default list -}}
{{- $extra := get $found "devicePlugin.extraEnvs" | default list -}}
{{- if kindIs "map" $extra -}}
  {{- range $name, $value := $extra -}}{{- $more = append $more (dict "name" $name "value" (toString $value)) -}}{{- end -}}
{{- else -}}{{- $more = concat $more $extra -}}{{- end -}}
{{- $more = concat $more (get $found "devicePlugin.env" | default list) ($set.agent.env | default list) -}}
{{- $given := dict -}}
{{- range concat $keyed $more -}}{{- $_ := set $given .name (toString (.value | default "")) -}}{{- end -}}

{{- $nvidia := or (not $isNative) (regexMatch "(?m)^ *(- )?nvidia:" $own) -}}
{{- $vgpu := or (eq $v.style "hami") (and $isNative (regexMatch "policy: vgpu" $own)) -}}
{{- $unknown := and (eq $v.style "nvidia") $follows (empty $texts) -}}
{{- $strategy := coalesce $given.MIG_STRATEGY (ternary "mixed" "none" $unknown) -}}
{{- $requested := or (eq $v.style "hami") (and $isNative (regexMatch "mode: requested" $own)) -}}
{{- $mig := regexMatch "(migStrategy|MIG_STRATEGY): (single|mixed)|mig: |inMigMode: devices" (printf "%s\nMIG_STRATEGY: %s" $all $strategy) -}}
{{- $cdi := or $vgpu $unknown (regexMatch "cdi-" (printf "%s %s" $all ($given.DEVICE_LIST_STRATEGY | default ""))) -}}
{{- $labels := or (not (empty $given.TESSERA_LABELS_OUTPUT)) (eq (toString $set.labels.enabled) "true") (eq (get $found "gfd.enabled" | toString) "true") -}}
{{- $mps := regexMatch "policy: mps|(?m)^ *mps:$" $all -}}
{{- $mps = or $mps $unknown -}}
{{- if hasKey $found "mps.enabled" -}}{{- $mps = get $found "mps.enabled" -}}{{- end -}}

{{- $root := $set.agent.kubeletRoot | default "/var/lib/kubelet" -}}
{{- with get $found "devicePlugin.pluginPath" -}}{{- $root = dir . -}}{{- end -}}
{{- $root = coalesce $given.TESSERA_KUBELET_ROOT $root -}}
{{- $hook := coalesce (ternary $given.HOOK_PATH "" (eq $v.style "hami")) (get $found "global.gpuHookPath") "/usr/local" -}}
{{- $driver := coalesce $given.NVIDIA_DRIVER_ROOT (get $found "nvidiaDriverRoot") -}}
{{- if eq (toString $driver) "auto" -}}{{- $driver = "/" -}}{{- end -}}
{{- $directory := printf "%s/vgpu" $hook -}}
{{- /* Of a configuration of Tessera: the paths that it names. */ -}}
{{- $drivers := list -}}{{- $directories := list -}}
{{- if $isNative -}}
  {{- range $native.resources | default list -}}
    {{- $gpus := .nvidia | default .amd | default dict -}}
    {{- /* Pods choose the size of AMD's virtual GPUs, and of parts of Ascend's chips. */ -}}
    {{- if and (or (hasKey . "amd") (hasKey . "ascend")) (eq (toString .policy) "vgpu") -}}{{- $requested = true -}}{{- end -}}
    {{- with $gpus.hostDriverRoot -}}{{- $drivers = append $drivers (clean .) -}}{{- end -}}
    {{- if eq (toString .policy) "vgpu" -}}{{- $directories = append $directories (($gpus.vgpu | default dict).directory | default $directory | clean) -}}{{- end -}}
  {{- end -}}
{{- end -}}
{{- $drivers = uniq (concat (ternary (list (clean (toString $driver))) list (not (empty $driver))) $drivers) -}}
{{- if gt (len $drivers) 1 -}}
  {{- fail (printf "the agent sees one driver, and nvidiaDriverRoot and nvidia.hostDriverRoot of agent.config are %s: write one path" (join " and " $drivers)) -}}
{{- end -}}
{{- $driver = first $drivers | default "/" -}}
{{- if gt (len (uniq $directories)) 1 -}}
  {{- fail (printf "one directory is mounted for the limiter, and agent.config has %s: write one nvidia.vgpu.directory" (uniq $directories | join " and ")) -}}
{{- end -}}
{{- $directory = first $directories | default $directory -}}

{{- $env := list -}}
{{- if eq $v.style "nvidia" -}}
  {{- if or $texts $external -}}{{- $env = append $env (dict "name" "CONFIG_FILE" "value" (printf "/config/%s" (ternary "config.yaml" $single $follows))) -}}{{- end -}}
{{- end -}}
{{- if $nvidia -}}
  {{- $env = concat $env (list (dict "name" "NVIDIA_VISIBLE_DEVICES" "value" "all") (dict "name" "NVIDIA_DRIVER_CAPABILITIES" "value" "compute,utility")) -}}
{{- end -}}
{{- if and $nvidia $mig -}}{{- $env = append $env (dict "name" "NVIDIA_MIG_MONITOR_DEVICES" "value" "all") -}}{{- end -}}
{{- $env = concat $env $keyed -}}
{{- if and (eq $v.style "hami") (ne $hook "/usr/local") -}}{{- $env = append $env (dict "name" "HOOK_PATH" "value" $hook) -}}{{- end -}}
{{- if not (get ($native.http | default dict) "address") -}}{{- $env = append $env (dict "name" "TESSERA_HTTP_ADDRESS" "value" "0.0.0.0:9440") -}}{{- end -}}
{{- if not $isNative -}}{{- $env = append $env (dict "name" "TESSERA_LOG_FORMAT" "value" "json") -}}{{- end -}}
{{- if $labels -}}{{- $env = append $env (dict "name" "TESSERA_LABELS_OUTPUT" "value" "auto") -}}{{- end -}}
{{- if ne $root "/var/lib/kubelet" -}}{{- $env = append $env (dict "name" "TESSERA_KUBELET_ROOT" "value" $root) -}}{{- end -}}
{{- $env = append $env (dict "name" "NODE_NAME" "valueFrom" (dict "fieldRef" (dict "fieldPath" "spec.nodeName"))) -}}
{{- /* Server-side apply takes each variable once; the last one counts. */ -}}
{{- $names := list -}}{{- $last := list -}}
{{- range concat $env $more | reverse -}}
  {{- if not (has .name $names) -}}{{- $names = append $names .name -}}{{- $last = prepend $last . -}}{{- end -}}
{{- end -}}

{{- if and (ne (toString $set.agent.apiServer) "true") (or $follows $requested) -}}
  {{- fail "agent.apiServer is false, and the agent needs the API server for shares and for the label of its node: write true" -}}
{{- end -}}

{{- $add := list -}}
{{- if $vgpu -}}{{- $add = append $add "FOWNER" -}}{{- end -}}
{{- if and $nvidia $mig -}}{{- $add = append $add "SYS_ADMIN" -}}{{- end -}}
{{- $hostNetwork := has "true" (list (get $found "devicePlugin.enableHostNetwork" | toString) (get $found "devicePlugin.hostNetwork" | toString)) -}}
{{- $update := coalesce (get $found "devicePlugin.updateStrategy") (get $found "updateStrategy") -}}
{{- if or (not $update) (and (eq (toString $update.type) "RollingUpdate") (not $update.rollingUpdate)) -}}
  {{- $update = dict "type" "RollingUpdate" "rollingUpdate" (ternary (dict "maxUnavailable" 1) (dict "maxSurge" 1 "maxUnavailable" 0) $hostNetwork) -}}
{{- end -}}
{{- $selector := mergeOverwrite dict (get $found "nodeSelector" | default dict) (get $found "devicePlugin.nvidiaNodeSelector" | default dict) -}}
{{- if get $found "global.managedNodeSelectorEnable" -}}{{- $selector = mergeOverwrite $selector (get $found "global.managedNodeSelector" | default dict) -}}{{- end -}}
{{- $drops := dict "runAsUser" 0 "runAsGroup" 0 "allowPrivilegeEscalation" false "readOnlyRootFilesystem" true "seccompProfile" (dict "type" "RuntimeDefault") -}}
{{- $_ := set $drops "capabilities" (ternary (dict "drop" (list "ALL") "add" $add) (dict "drop" (list "ALL")) (gt (len $add) 0)) -}}
{{- $pod := get $found "podSecurityContext" | default dict -}}
{{- if get $found "platform.openshift" -}}{{- $pod = mergeOverwrite (dict "seLinuxOptions" (dict "type" "spc_t")) $pod -}}{{- end -}}
{{- $block := get $found "devices.nvidia" | default dict -}}
{{- $runtime := coalesce (get $found "devicePlugin.runtimeClassName") $block.runtimeClassName (get $found "runtimeClassName") -}}

{{- dict
  "enabled" (and (eq (toString $set.agent.enabled) "true") (ne (toString (get $found "devicePlugin.enabled")) "false") (ne (toString $set.cleanup.enabled) "true"))
  "native" $isNative "nvidia" $nvidia "vgpu" $vgpu "cdi" $cdi "mps" $mps "labels" $labels "follows" $follows
  "files" (and $isNative (regexMatch "(?m)^\\s*(- )?(files|amd|ascend|rdma|fpga|pair):" $own))
  "amd" (and $isNative (regexMatch "(?m)^\\s*(- )?amd:" $own))
  "rdma" (and $isNative (regexMatch "(?m)^\\s*(- )?rdma:" $own))
  "cni" (and $isNative (regexMatch "(?m)^\\s*cni: *true" $own))
  "ascend" (and $isNative (regexMatch "(?m)^\\s*(- )?ascend:" $own))
  "requested" $requested
  "evicts" (regexMatch "evictMismatched: *true" $own) "fits" (regexMatch "unplaced: *fit" $own)
  "text" $text "texts" $texts "external" ($external | default "") "default" ($default | default "")
  "configMap" ($external | default (printf "%s%s" $v.name (ternary "-configs" "" (eq $v.style "nvidia"))))
  "hasConfig" (or $isNative (eq $v.style "hami") (not (empty $texts)) (not (empty $external)))
  "nodeConfig" (get $found "devicePlugin.nodeConfiguration.externalConfigName" | default "")
  "kubelet" $root "driver" $driver "directory" $directory "mpsRoot" (coalesce $given.MPS_ROOT (get $found "mps.root"))
  "env" $last "args" (without (get $found "devicePlugin.extraArgs" | default list) "") "hostNetwork" $hostNetwork
  "update" $update "selector" $selector
  "tolerations" (coalesce (get $found "devicePlugin.tolerations") (get $found "tolerations") list)
  "affinity" (get $found "affinity" | default dict)
  "runtimeClass" ($runtime | default "") "createsRuntimeClass" (or (get $found "devicePlugin.createRuntimeClass") $block.createRuntimeClass) "priorityClass" (get $found "priorityClassName" | default "")
  "annotations" (mergeOverwrite dict (get $found "global.annotations" | default dict) (get $found "podAnnotations" | default dict) (get $found "devicePlugin.podAnnotations" | default dict))
  "podLabels" (get $found "global.labels" | default dict)
  "podSecurityContext" $pod
  "securityContext" (get $found "securityContext" | default $drops)
  "resources" (coalesce (get $found "devicePlugin.resources") (get $found "resources") (dict "requests" (dict "cpu" "10m" "memory" "32Mi") "limits" (dict "memory" "128Mi")))
  "matchLabels" (get $found "selectorLabelsOverride" | default (dict "app.kubernetes.io/name" $v.name))
  "api" (eq (toString $set.agent.apiServer) "true")
  "monitor" (eq (toString $set.monitor.enabled) "true")
  "dcgm" (eq (toString $set.monitor.dcgmNames) "true")
  "legacyMetrics" (or (eq (toString $set.monitor.legacyMetrics) "true") (get $found "legacyMetrics") | toString)
  | toYaml -}}
{{- end -}}

{{- /* Labels by which others find HAMi's pods. */ -}}
{{- define "tessera.component" -}}
{{- if .agent.requested }}app.kubernetes.io/component: hami-device-plugin{{ end -}}
{{- end -}}

{{- /* How a container gets the driver's libraries. The runtime heeds the variable, or the mount. */ -}}
{{- define "tessera.driverMounts" -}}
{{- if .nvidia -}}
- { name: driver, mountPath: {{ ternary "/driver-root/usr" "/driver-root" (eq .driver "/") }}, readOnly: true }
- { name: all-gpus, mountPath: /var/run/nvidia-container-devices/all }
{{- end -}}
{{- end -}}

{{- define "tessera.configManager" -}}
{{- $a := .v.agent -}}
image: {{ .v.image }}
imagePullPolicy: {{ .v.pullPolicy }}
command: [config-manager]
env:
  - { name: ONESHOT, value: {{ .oneshot | quote }} }
  - { name: NODE_NAME, valueFrom: { fieldRef: { fieldPath: spec.nodeName } } }
  - { name: NODE_LABEL, value: nvidia.com/device-plugin.config }
  - { name: CONFIG_FILE_SRCDIR, value: /available-configs }
  - { name: CONFIG_FILE_DST, value: /config/config.yaml }
  - { name: DEFAULT_CONFIG, value: {{ $a.default | quote }} }
  - { name: FALLBACK_STRATEGIES, value: {{ get .v.found "config.fallbackStrategies" | default (list "named" "single") | join "," | quote }} }
  - { name: SEND_SIGNAL, value: "false" }   # the agent notices it
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
  seccompProfile: { type: RuntimeDefault }
resources:
  requests: { cpu: 10m, memory: 16Mi }
  limits: { memory: 64Mi }
volumeMounts:
  - { name: available-configs, mountPath: /available-configs }
  - { name: config, mountPath: /config }
{{- end -}}

{{- define "tessera.monitor" -}}
{{- $a := .agent -}}
{{- $args := list -}}
{{- if eq $a.legacyMetrics "true" }}{{ $args = append $args "--legacy-metrics" }}{{ end -}}
{{- if $a.dcgm }}{{ $args = append $args "--dcgm-names" }}{{ end -}}
{{- /* YAML takes on and off for booleans. */ -}}
{{- if has (toString .set.monitor.feedback) (list "on" "true") }}{{ $args = append $args "--feedback=on" }}{{ end -}}
{{- if has (toString .set.monitor.feedback) (list "off" "false") }}{{ $args = append $args "--feedback=off" }}{{ end -}}
- name: monitor
  image: {{ .image }}
  imagePullPolicy: {{ .pullPolicy }}
  command: [/usr/bin/tessera, monitor]
  args: {{ toJson (concat (list "--config" "/etc/tessera/tessera.yaml") $args) }}
  env:
    {{- if $a.nvidia }}
    - { name: NVIDIA_VISIBLE_DEVICES, value: all }
    - { name: NVIDIA_DRIVER_CAPABILITIES, value: "compute,utility" }
    {{- end }}
    - { name: NODE_NAME, valueFrom: { fieldRef: { fieldPath: spec.nodeName } } }
  ports:
    - { name: monitorport, containerPort: 9394 }
  securityContext:
    # The agent's socket and the regions are root's.
    runAsUser: 0
    runAsGroup: 0
    allowPrivilegeEscalation: false
    readOnlyRootFilesystem: true
    capabilities: { drop: [ALL] }
    seccompProfile: { type: RuntimeDefault }
  resources:
    {{- toYaml (coalesce .set.monitor.resources (get .found "devicePlugin.monitor.resources") (dict "requests" (dict "cpu" "10m" "memory" "32Mi") "limits" (dict "memory" "128Mi"))) | nindent 4 }}
  volumeMounts:
    {{- with include "tessera.driverMounts" $a }}
    {{- . | nindent 4 }}
    {{- end }}
    - { name: {{ ternary "config" "monitor" $a.native }}, mountPath: /etc/tessera, readOnly: true }
    - { name: run, mountPath: /run/tessera }
    {{- if $a.vgpu }}
    - { name: vgpu, mountPath: {{ $a.directory }} }
    {{- end }}
{{- end -}}

{{- define "tessera.volumes" -}}
{{- $a := .agent -}}
{{- if $a.follows }}
- name: available-configs
  configMap: { name: {{ $a.configMap }} }
- name: config
  emptyDir: { medium: Memory, sizeLimit: 1Mi }
{{- else if or (and (eq .style "hami") $a.nodeConfig) (and $a.native .without) }}
- name: config
  projected:
    sources:
      - configMap: { name: {{ $a.configMap }} }
      - configMap: { name: {{ ternary (printf "%s-ignored" .name) $a.nodeConfig $a.native }} }
{{- else if $a.hasConfig }}
- name: config
  configMap: { name: {{ $a.configMap }} }
{{- end }}
{{- if and .without (not $a.native) }}
- name: ignored
  configMap: { name: {{ .name }}-ignored }
{{- end }}
{{- if and $a.monitor (not $a.native) }}
- name: monitor
  configMap: { name: {{ .name }}-monitor }
{{- end }}
{{- if $a.nvidia }}
# The driver's libraries: of all that a host has, only what everybody may read; or all of a driver in a container.
- name: driver
  hostPath: { path: {{ ternary "/usr" $a.driver (eq $a.driver "/") }}, type: Directory }
- name: all-gpus
  hostPath: { path: /dev/null, type: CharDevice }
{{- end }}
# Sockets are put into these two, and found there after kubelet's restart.
- name: device-plugins
  hostPath: { path: {{ $a.kubelet }}/device-plugins, type: Directory }
- name: plugins-registry
  hostPath: { path: {{ $a.kubelet }}/plugins_registry, type: Directory }
# Here kubelet tells who holds what.
- name: pod-resources
  hostPath: { path: {{ $a.kubelet }}/pod-resources, type: Directory }
# A sick device stays sick over a restart of the pod.
- name: state
  hostPath: { path: /var/lib/tessera, type: DirectoryOrCreate }
# The control socket is each instance's own: two run side by side during an update.
- name: run
  emptyDir: { medium: Memory, sizeLimit: 1Mi }
{{- if $a.cdi }}
- name: cdi
  hostPath: { path: /var/run/cdi, type: DirectoryOrCreate }
{{- end }}
{{- if $a.vgpu }}
# libvgpu.so, and a directory for each container: on a file system that may carry programs.
- name: vgpu
  hostPath: { path: {{ $a.directory }}, type: DirectoryOrCreate }
{{- end }}
{{- if or $a.mps (eq .style "nvidia") }}
- name: mps
  hostPath: { path: {{ $a.mpsRoot }}, type: DirectoryOrCreate }
{{- end }}
{{- if $a.files }}
- name: dev
  hostPath: { path: /dev, type: Directory }
{{- end }}
{{- if $a.amd }}
- name: amd-exporter
  hostPath: { path: /var/lib/amd-metrics-exporter, type: DirectoryOrCreate }
{{- end }}
{{- if and $a.amd $a.labels }}
# Labels have the firmware of AMD's GPUs, which debugfs alone shows.
- name: debug
  hostPath: { path: /sys/kernel/debug, type: Directory }
{{- end }}
{{- if $a.rdma }}
# The host's: that of a pod with its own network hides the cards' interfaces.
- name: sys
  hostPath: { path: /sys, type: Directory }
{{- end }}
{{- if $a.cni }}
# CNI plugins find here which network function a pod's device is.
- name: cni
  hostPath: { path: /var/run/k8s.cni.cncf.io, type: DirectoryOrCreate }
{{- end }}
{{- if $a.ascend }}
# Huawei's driver: DCMI in dcmi, the libraries that it needs in Ascend, and what pods get of both.
- name: local
  hostPath: { path: /usr/local, type: Directory }
# Tells the agent which of the driver's files in /etc pods can get.
- name: etc
  hostPath: { path: /etc, type: Directory }
{{- end }}
{{- if $a.labels }}
- name: nfd
  hostPath: { path: /etc/kubernetes/node-feature-discovery, type: DirectoryOrCreate }
{{- end }}
{{- end -}}

{{- /* A configuration of Tessera for programs that read no other: it names the devices and directories of the agent. */ -}}
{{- define "tessera.nativeConfig" -}}
{{- $a := .agent -}}
{{- if $a.native -}}
{{- $a.text | trim -}}
{{- else -}}
version: tessera/v1
log:
  format: json
resources:
  - name: {{ first .resources.all }}
    {{- if $a.vgpu }}
    policy: vgpu
    replicas: 2
    strategies: [cdi-cri]
    cdi: { kind: k8s.device-plugin.nvidia.com/gpu }
    {{- end }}
    nvidia:
      driverRoot: /driver-root
      hostDriverRoot: {{ $a.driver }}
      {{- if $a.vgpu }}
      vgpu: { mode: requested, directory: {{ $a.directory }} }
      {{- end }}
{{- end -}}
{{- end -}}
