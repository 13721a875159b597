{{- /* SPDX-License-Identifier: Apache-2.0 */ -}}
{{- /*
All values, read once: those of this chart, of NVIDIA's chart, of HAMi's and of the GPU operator's section. The other
templates read what "tessera.values" makes of them, and no value of the user's.

files/keys.yaml has each key of the others. "found" is a flat map of those that are set: "config.map" -> its value.
*/ -}}

{{- /* Takes null out of a map, at any depth. */ -}}
{{- define "tessera.prune" -}}
{{- $map := . -}}
{{- range $key, $value := $map -}}
{{- if kindIs "invalid" $value -}}{{- $_ := unset $map $key -}}
{{- else if kindIs "map" $value -}}{{- include "tessera.prune" $value -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- /* A time as Go writes it, "1h0m0s", in one unit. Arguments: the key, the text. */ -}}
{{- define "tessera.time" -}}
{{- $text := index . 1 | toString -}}
{{- $sum := 0.0 -}}
{{- if eq $text "0" -}}0s
{{- else if regexMatch "^[0-9]+(h|ms|m|s)$" $text -}}{{- $text -}}
{{- else if regexMatch "^([0-9]+(\\.[0-9]+)?(h|ms|m|s))+$" $text -}}
  {{- range regexFindAll "[0-9.]+[hms]+" $text -1 -}}
    {{- $unit := regexFind "[hms]+$" . -}}
    {{- $sum = addf $sum (mulf (trimSuffix $unit . | float64) (get (dict "h" 3600000.0 "m" 60000.0 "s" 1000.0 "ms" 1.0) $unit)) -}}
  {{- end -}}
  {{- if mod (int64 $sum) 1000 -}}{{- int64 $sum -}}ms{{- else -}}{{- div (int64 $sum) 1000 -}}s{{- end -}}
{{- else -}}
  {{- fail (printf "%s is %q: write a time such as 5m" (index . 0) $text) -}}
{{- end -}}
{{- end -}}

{{- /* Makes of a value what its type says. Arguments: map, name, type, path. */ -}}
{{- define "tessera.typed" -}}
{{- $value := get .map .name -}}
{{- if and (has .type (list "bool" "number")) (kindIs "string" $value) -}}
  {{- $value = get (fromYaml (printf "value: %s" $value)) "value" -}}
{{- end -}}
{{- if and (eq .type "bool") (not (kindIs "bool" $value)) -}}
  {{- fail (printf "%s is %v: write true or false" .path $value) -}}
{{- end -}}
{{- if and (eq .type "number") (not (regexMatch "^[-+.0-9e]+$" (toString $value))) -}}
  {{- fail (printf "%s is %q: write a number" .path (toString $value)) -}}
{{- end -}}
{{- if eq .type "path" -}}{{- $value = clean (toString $value) -}}{{- end -}}
{{- if eq .type "time" -}}{{- $value = include "tessera.time" (list .path $value) -}}{{- end -}}
{{- $_ := set .map .name $value -}}
{{- end -}}

{{- /* The same for a vendor's block, at any depth. Arguments: block, path, types. */ -}}
{{- define "tessera.typedBlock" -}}
{{- range $name, $value := .block -}}
  {{- $path := printf "%s.%v" $.path $name -}}
  {{- if kindIs "map" $value -}}
    {{- include "tessera.typedBlock" (dict "block" $value "path" $path "types" $.types) -}}
  {{- else if kindIs "slice" $value -}}
    {{- range $n, $one := $value -}}
      {{- if kindIs "map" $one -}}{{- include "tessera.typedBlock" (dict "block" $one "path" (printf "%s[%d]" $path $n) "types" $.types) -}}{{- end -}}
    {{- end -}}
  {{- else if ne (toString $value) "" -}}
    {{- range $type, $names := $.types -}}
      {{- if has $name $names -}}{{- include "tessera.typed" (dict "map" $.block "name" $name "type" $type "path" $path) -}}{{- end -}}
    {{- end -}}
  {{- end -}}
{{- end -}}
{{- end -}}

{{- /* Sorts a map's keys into "found", and "without" an effect. Texts, lists and maps that are empty count as not set. */ -}}
{{- define "tessera.sort" -}}
{{- $here := .state -}}{{- $prefix := .prefix -}}{{- $map := .map -}}
{{- range $name, $value := $map -}}
{{- $path := printf "%s%s" $prefix $name -}}
{{- $known := get $here.keys $path -}}
{{- $empty := and (or (kindIs "string" $value) (kindIs "slice" $value) (kindIs "map" $value)) (empty $value) -}}
{{- if or $empty (and (eq $prefix "") (has $name $here.own)) -}}
{{- else if $known -}}
  {{- if $known.type -}}
    {{- include "tessera.typed" (dict "map" $map "name" $name "type" $known.type "path" $path) -}}
    {{- $value = get $map $name -}}
  {{- else if and (eq $prefix "devices.") (kindIs "map" $value) (not $known.none) -}}
    {{- include "tessera.typedBlock" (dict "block" $value "path" $path "types" $here.types) -}}
  {{- end -}}
  {{- $_ := set $here.found $path $value -}}
  {{- $off := ternary (get (ternary $value dict (kindIs "map" $value)) "enabled") $value (kindIs "map" $value) | toString | eq "false" -}}
  {{- if and $known.none (not $off) -}}{{- $_ := set $here.without $path $known.none -}}{{- end -}}
{{- else if and (kindIs "map" $value) (has $path $here.parents) -}}
  {{- include "tessera.sort" (dict "map" $value "prefix" (printf "%s." $path) "state" $here) -}}
{{- else if ne $prefix "global." -}}
  {{- $places := list -}}
  {{- range $other := $here.all -}}
    {{- if hasSuffix (printf ".%s" $name | lower) (printf ".%s" $other | lower) -}}{{- $places = append $places $other -}}{{- end -}}
  {{- end -}}
  {{- $_ := set $here.without $path (ternary (printf "there is no such key; did you mean %s?" (join " or " $places)) "there is no such key" (gt (len $places) 0)) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "tessera.values" -}}
{{- $in := deepCopy .Values -}}
{{- include "tessera.prune" $in -}}
{{- $own := list "agent" "monitor" "labels" "policies" "networkPolicy" "podMonitor" "serviceMonitor" "alerts" "cleanup" -}}
{{- $keys := .Files.Get "files/keys.yaml" | fromYaml -}}
{{- $table := .Files.Get "files/resources.yaml" | fromYaml -}}
{{- $parents := list -}}
{{- range $path, $_ := $keys -}}
  {{- $parts := splitList "." $path -}}
  {{- range $n, $_ := initial $parts -}}{{- $parents = append $parents (slice $parts 0 (add1 $n | int) | join ".") -}}{{- end -}}
{{- end -}}
{{- $found := dict -}}{{- $without := dict -}}
{{- include "tessera.sort" (dict "map" $in "prefix" "" "state" (dict "keys" $keys "all" (keys $keys | sortAlpha) "parents" (uniq $parents) "own" $own "types" $table.types "found" $found "without" $without)) -}}
{{- $set := mergeOverwrite (dict "agent" (dict "enabled" true "image" dict "configMap" dict "env" list "apiServer" true) "monitor" (dict "enabled" true) "labels" dict "policies" (dict "enabled" true) "networkPolicy" dict "podMonitor" dict "serviceMonitor" dict "alerts" dict "cleanup" dict) (pick $in "agent" "monitor" "labels" "policies" "networkPolicy" "podMonitor" "serviceMonitor" "alerts" "cleanup") -}}

{{- /* Whose values they are. */ -}}
{{- $nvidias := list -}}{{- $hamis := list -}}{{- $shapes := list -}}
{{- $ofNvidia := list -}}{{- $ofHami := list -}}
{{- range $path, $_ := $found -}}
  {{- $key := get $keys $path -}}
  {{- $counts := not (or $key.neutral $key.none) -}}
  {{- if has $key.of (list "nvidia" "operator") -}}
    {{- $ofNvidia = append $ofNvidia $path -}}
    {{- if $counts -}}{{- $nvidias = append $nvidias $path -}}{{- end -}}
  {{- else if hasPrefix "hami" $key.of -}}
    {{- $ofHami = append $ofHami $path -}}
    {{- if $counts -}}{{- $hamis = append $hamis $path -}}{{- end -}}
    {{- if and $counts (not (hasPrefix "scheduler" $path)) -}}{{- $shapes = append $shapes $path -}}{{- end -}}
  {{- else if and (eq $key.of "all") (regexMatch "^(scheduler|global)\\." $path) -}}
    {{- $ofHami = append $ofHami $path -}}
  {{- end -}}
{{- end -}}
{{- $external := $set.agent.configMap.name -}}
{{- if and $nvidias $hamis -}}
  {{- fail (printf "%s is a key of NVIDIA's device plugin and %s of HAMi: keep the keys of one of the two" (first $nvidias) (first $hamis)) -}}
{{- end -}}
{{- if and $set.agent.config (or $nvidias $shapes) -}}
  {{- fail (printf "agent.config is the agent's whole configuration: write there what %s says, or leave agent.config out" (first (concat $nvidias $shapes))) -}}
{{- end -}}
{{- if and $set.agent.config $external -}}
  {{- fail "agent.config and agent.configMap.name are two configurations: leave one out" -}}
{{- end -}}
{{- if and (get $found "config.map") (get $found "config.name") -}}
  {{- fail "config.map and config.name are two sources of configurations: leave one out" -}}
{{- end -}}
{{- range list "config.map" "config.name" "devicePlugin.config.name" -}}
  {{- if and $external (get $found .) -}}
    {{- fail (printf "agent.configMap.name and %s are two sources of configurations: leave one out" .) -}}
  {{- end -}}
{{- end -}}
{{- if and $external $hamis -}}
  {{- fail (printf "agent.configMap.name has a configuration of NVIDIA's plugin, and %s is a key of HAMi: leave one out" (first $hamis)) -}}
{{- end -}}
{{- $style := "nvidia" -}}
{{- if $set.agent.config -}}{{- $style = "tessera" -}}
{{- else if $hamis -}}{{- $style = "hami" -}}
{{- else if and $ofHami (not $ofNvidia) (not $external) -}}{{- $style = "hami" -}}
{{- else if and (get $found "scheduler.enabled") (not $nvidias) (not $external) -}}{{- $style = "hami" -}}
{{- end -}}

{{- include "tessera.contradictions" (dict "found" $found "keys" $keys "table" $table) -}}
{{- /* A default that a null took away, or the operator's key replaces. */ -}}
{{- $_ := set $found "mps.root" (coalesce (get $found "devicePlugin.mps.root") (get $found "mps.root") "/run/nvidia/mps") -}}
{{- $v := dict "style" $style "found" $found "set" $set "without" $without "name" (include "tessera.fullname" .) "namespace" (include "tessera.namespace" .) -}}
{{- $registry := get $found "global.imageRegistry" | default "" -}}
{{- $image := printf "%s:%s" ($set.agent.image.repository | default "tessera") ($set.agent.image.tag | default .Chart.AppVersion) -}}
{{- $_ := set $v "image" (ternary (printf "%s/%s" $registry $image) $image (ne $registry "")) -}}
{{- $_ := set $v "pullPolicy" (coalesce (get $found "image.pullPolicy") (get $found "devicePlugin.imagePullPolicy") $set.agent.image.pullPolicy "IfNotPresent") -}}
{{- $secrets := list -}}
{{- range concat (get $found "imagePullSecrets" | default list) (get $found "global.imagePullSecrets" | default list) (get $found "devicePlugin.imagePullSecrets" | default list) -}}
  {{- $secrets = append $secrets (ternary . (dict "name" .) (kindIs "map" .)) -}}
{{- end -}}
{{- $_ := set $v "pullSecrets" (uniq $secrets) -}}
{{- $_ := set $v "devices" (include "tessera.deviceConfig" (dict "root" . "v" $v) | fromYaml) -}}
{{- $_ := set $v "resources" (include "tessera.resources" (dict "root" . "v" $v) | fromYaml) -}}
{{- $_ := set $v "scheduler" (include "tessera.schedulerValues" (dict "root" . "v" $v) | fromYaml) -}}
{{- $_ := set $v "agent" (include "tessera.agentValues" (dict "root" . "v" $v) | fromYaml) -}}
{{- if eq (toString $set.cleanup.enabled) "true" -}}
  {{- range list "policies" "networkPolicy" "podMonitor" "serviceMonitor" "alerts" -}}{{- $_ := set $set . (dict "enabled" false) -}}{{- end -}}
  {{- $_ := set $v.scheduler "enabled" false -}}
{{- end -}}
{{- toYaml $v -}}
{{- end -}}

{{- define "tessera.contradictions" -}}
{{- $found := .found -}}
{{- $content := get $found "device-config.content" -}}
{{- $file := fromYaml (toString $content) -}}
{{- range $path, $value := $found -}}
  {{- $key := get $.keys $path -}}
  {{- if $key.block -}}
    {{- $parts := splitList "." $key.block -}}
    {{- $block := get $found (printf "devices.%s" (first $parts)) | default dict -}}
    {{- if not (has (get $block (last $parts) | toString) (list "" (toString $value))) -}}
      {{- fail (printf "%s and devices.%s differ: write only devices.%s" $path $key.block $key.block) -}}
    {{- end -}}
  {{- end -}}
  {{- /* What the values say more than the whole file. */ -}}
  {{- $says := dict -}}
  {{- if and (hasPrefix "devices." $path) (not $key.none) -}}
    {{- $vendor := trimPrefix "devices." $path -}}
    {{- $says = dict (get $.table.block $vendor | default $vendor) (include "tessera.block" (dict "block" $value "chart" $.table.chart) | fromYaml) -}}
  {{- else if and $key.block (ne $path "devicePlugin.runtimeClassName") -}}
    {{- $says = dict (splitList "." $key.block | first) (dict (splitList "." $key.block | last) $value) -}}
  {{- end -}}
  {{- range $block, $all := $says -}}
    {{- $there := get $file $block -}}
    {{- range $name, $one := $all -}}
      {{- if and $content (ne (get (ternary $there dict (kindIs "map" $there)) $name | toString) (toString $one)) -}}
        {{- fail (printf "device-config.content is HAMi's whole file: write there what %s says, or leave device-config.content out" $path) -}}
      {{- end -}}
    {{- end -}}
  {{- end -}}
{{- end -}}
{{- if eq (toString (get $found "scheduler.kubeScheduler.enabled")) "false" -}}
  {{- fail "scheduler.kubeScheduler.enabled is false, and the extender listens to the kube-scheduler in its pod alone: leave the key out, or write scheduler.enabled: false" -}}
{{- end -}}
{{- if eq (toString (get (get $found "scheduler.admissionWebhook.customURL" | default dict) "enabled")) "true" -}}
  {{- fail "scheduler.admissionWebhook.customURL is enabled, and the webhook's certificate is for its Service: write enabled: false" -}}
{{- end -}}
{{- if get $found "devicePlugin.args" -}}
  {{- fail "devicePlugin.args are flags of another program: write their variables into devicePlugin.env" -}}
{{- end -}}
{{- $library := get $found "devicePlugin.libPath" -}}
{{- $hook := get $found "global.gpuHookPath" | default "/usr/local" -}}
{{- if and $library (ne $library (printf "%s/vgpu" $hook)) -}}
  {{- fail (printf "devicePlugin.libPath is %s and the limiter's directory %s/vgpu: write global.gpuHookPath: %s, with %s/vgpu as libPath" $library $hook (dir $library) (dir $library)) -}}
{{- end -}}
{{- $plugins := get $found "devicePlugin.pluginPath" | default "/device-plugins" -}}
{{- if not (hasSuffix "/device-plugins" $plugins) -}}
  {{- fail (printf "devicePlugin.pluginPath is %s: write kubelet's directory as agent.kubeletRoot" $plugins) -}}
{{- end -}}
{{- $map := get $found "config.map" | default dict -}}
{{- $default := get $found "config.default" -}}
{{- if and $map $default (not (hasKey $map $default)) -}}
  {{- fail (printf "config.default is %s, and config.map has no such configuration: write one of %s" $default (keys $map | sortAlpha | join ", ")) -}}
{{- end -}}
{{- end -}}
