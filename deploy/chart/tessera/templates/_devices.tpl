{{- /* SPDX-License-Identifier: Apache-2.0 */ -}}

{{- /* A vendor's block without the keys that only a chart reads. Arguments: block, chart. */ -}}
{{- define "tessera.block" -}}
{{- $block := dict -}}
{{- range $name, $value := .block | default dict -}}
  {{- if not (has $name $.chart) -}}{{- $_ := set $block $name $value -}}{{- end -}}
{{- end -}}
{{- toYaml $block -}}
{{- end -}}

{{- /* HAMi's device-config.yaml, from the keys of HAMi 2.10 and 2.11. Arguments: root, v so far. */ -}}
{{- define "tessera.deviceConfig" -}}
{{- $found := .v.found -}}
{{- $keys := .root.Files.Get "files/keys.yaml" | fromYaml -}}
{{- $table := .root.Files.Get "files/resources.yaml" | fromYaml -}}
{{- $content := get $found "device-config.content" -}}
{{- if $content -}}
  {{- $all := fromYaml $content -}}
  {{- if $all.Error -}}{{- fail (printf "device-config.content is no YAML: %s" $all.Error) -}}{{- end -}}
  {{- toYaml $all -}}
{{- else -}}
{{- $all := dict "nvidia" dict -}}
{{- range $vendor, $block := dict "amd" "amd" "ascend" "vnpus" "biren" "biren" "hygon" "hygon" "kunlun" "kunlun" "nvidia" "nvidia" "vastai" "vastai" -}}
  {{- $given := include "tessera.block" (dict "block" (get $found (printf "devices.%s" $vendor)) "chart" $table.chart) | fromYaml -}}
  {{- if and $given (or (eq $vendor "nvidia") (include "tessera.names" $given)) -}}{{- $_ := set $all $block $given -}}{{- end -}}
{{- end -}}
{{- range $old, $key := $keys -}}
  {{- if and $key.block (hasKey $found $old) -}}
    {{- $parts := splitList "." $key.block -}}
    {{- $block := get $all (first $parts) | default dict -}}
    {{- if eq (get $block (last $parts) | toString) "" -}}{{- $_ := set $block (last $parts) (get $found $old) -}}{{- end -}}
    {{- $_ := set $all (first $parts) $block -}}
  {{- end -}}
{{- end -}}
{{- toYaml $all -}}
{{- end -}}
{{- end -}}

{{- /* The resources that a block names, the counted one first. Empty: it names none. Argument: the block. */ -}}
{{- define "tessera.names" -}}
{{- $counted := list -}}{{- $sizes := list -}}
{{- range $key, $name := . -}}
  {{- if and (kindIs "string" $name) $name (regexMatch "^resource[A-Za-z]*Name$" $key) -}}
    {{- if has $key (list "resourceCountName" "resourceVCountName" "resourceName") -}}{{- $counted = append $counted $name -}}
    {{- else -}}{{- $sizes = append $sizes $name -}}{{- end -}}
  {{- end -}}
{{- end -}}
{{- concat $counted $sizes | join " " -}}
{{- end -}}

{{- /* Names of the shares that a configuration of Tessera has, as the scheduler calls them. Argument: agent.config. */ -}}
{{- define "tessera.nativeNames" -}}
{{- $config := ternary (fromYaml (toString .)) . (kindIs "string" .) | default dict -}}
{{- $names := dict -}}
{{- range $config.resources | default list -}}
  {{- $vgpu := (.nvidia | default dict).vgpu | default dict -}}
  {{- if and (eq (toString .policy) "vgpu") (not $names) -}}
    {{- $all := dict "count" .name "memory" $vgpu.memoryResource "percentage" $vgpu.memoryPercentageResource "cores" $vgpu.coresResource -}}
    {{- range $key, $name := $all -}}{{- if $name -}}{{- $_ := set $names $key $name -}}{{- end -}}{{- end -}}
  {{- end -}}
{{- end -}}
{{- toYaml $names -}}
{{- end -}}

{{- /* The vendors that are placed, and the resources of each: lists whose first is counted. Arguments: root, v. */ -}}
{{- define "tessera.resources" -}}
{{- $found := .v.found -}}{{- $devices := .v.devices -}}
{{- $table := .root.Files.Get "files/resources.yaml" | fromYaml -}}
{{- $own := get $found "scheduler.config" | default dict -}}
{{- $native := include "tessera.nativeNames" .v.set.agent.config | fromYaml -}}
{{- $nvidia := dict -}}
{{- range $key, $names := dict "count" (list "resourceCountName" "nvidia.com/gpu") "memory" (list "resourceMemoryName" "nvidia.com/gpumem") "percentage" (list "resourceMemoryPercentageName" "nvidia.com/gpumem-percentage") "cores" (list "resourceCoreName" "nvidia.com/gpucores") "priority" (list "resourcePriorityName" "nvidia.com/priority") -}}
  {{- $_ := set $nvidia $key (coalesce (get ($own.nvidia | default dict) $key) (get $native $key) (get ($devices.nvidia | default dict) (first $names)) (last $names)) -}}
{{- end -}}
{{- $vendors := list "nvidia" -}}
{{- $rows := list (list $nvidia.count $nvidia.memory $nvidia.percentage $nvidia.cores $nvidia.priority) -}}
{{- range $vendor, $names := $table.names -}}
  {{- $word := get $table.vendor $vendor | default $vendor -}}
  {{- $block := get $devices (get $table.block $vendor) -}}
  {{- $enabled := get (get $found (printf "devices.%s" $vendor) | default dict) "enabled" -}}
  {{- if or $block (eq (toString $enabled) "true") (has $word ($own.vendors | default list)) -}}
    {{- $vendors = append $vendors $word -}}
    {{- $given := list -}}
    {{- if and (kindIs "map" $block) (eq (len $names) 1) -}}
      {{- $keys := get $table.keys $vendor | default $table.keys.usual -}}
      {{- $row := list -}}
      {{- range $n, $name := first $names -}}{{- $row = append $row (get $block (index $keys $n) | default $name) -}}{{- end -}}
      {{- $given = list $row -}}
    {{- else -}}
      {{- $blocks := $block | default list -}}
      {{- if kindIs "map" $block -}}{{- $blocks = get $block "configs" | default (list $block) -}}{{- end -}}
      {{- range $blocks -}}{{- with include "tessera.names" . -}}{{- $given = append $given (splitList " " .) -}}{{- end -}}{{- end -}}
    {{- end -}}
    {{- $rows = concat $rows (default $names $given) -}}
  {{- end -}}
{{- end -}}
{{- $all := list -}}
{{- range $rows -}}{{- $all = concat $all . -}}{{- end -}}
{{- dict "vendors" $vendors "rows" $rows "all" $all | toYaml -}}
{{- end -}}

{{- /* The settings of tessera-scheduler, and what of its pod follows from them. Arguments: root, v. */ -}}
{{- define "tessera.schedulerValues" -}}
{{- $found := .v.found -}}
{{- $s := dict "version" "tessera-scheduler/v1" "log" (dict "format" "json") "schedulerNames" (list (get $found "schedulerName" | default "hami-scheduler")) -}}
{{- with include "tessera.nativeNames" .v.set.agent.config | fromYaml -}}{{- $_ := set $s "nvidia" . -}}{{- end -}}
{{- if gt (len .v.resources.vendors) 1 -}}{{- $_ := set $s "vendors" .v.resources.vendors -}}{{- end -}}
{{- if or (ne .v.namespace "kube-system") (eq (toString .v.set.agent.enabled) "true") -}}
  {{- $writers := list -}}
  {{- range list "hami-scheduler" "hami-device-plugin" -}}{{- $writers = append $writers (printf "system:serviceaccount:%s:%s" $.v.namespace .) -}}{{- end -}}
  {{- range list "tessera-scheduler" .v.name -}}{{- $writers = append $writers (printf "system:serviceaccount:%s:%s" $.v.namespace .) -}}{{- end -}}
  {{- $_ := set $s "webhook" (dict "protocolWriters" $writers) -}}
{{- end -}}
{{- with get $found "scheduler.nodeLabelSelector" -}}
  {{- $labels := list -}}
  {{- range $key, $value := . -}}{{- $labels = append $labels (printf "%s=%v" $key $value) -}}{{- end -}}
  {{- $_ := set $s "nodes" (dict "labels" $labels) -}}
{{- end -}}
{{- range $old, $new := dict "scheduler.defaultSchedulerPolicy.nodeSchedulerPolicy" "policies.node" "scheduler.defaultSchedulerPolicy.gpuSchedulerPolicy" "policies.devices" "scheduler.metricsBindAddress" "status.address" "scheduler.forceOverwriteDefaultScheduler" "webhook.takesDefaultScheduler" "scheduler.leaderElect" "lease.use" "scheduler.nodeLockExpire" "nodes.lockTimeout" "scheduler.nodeLockRetryTimeout" "nodes.lockPatience" -}}
  {{- /* HAMi's scheduler heeds no nodeLockExpire of 0 either. */ -}}
  {{- if and (hasKey $found $old) (ne (printf "%s=%v" $new (get $found $old)) "nodes.lockTimeout=0s") -}}
    {{- $parts := splitList "." $new -}}
    {{- $value := get $found $old -}}
    {{- if eq $new "policies.devices" -}}{{- $value = splitList "," $value -}}{{- end -}}
    {{- $_ := set $s (first $parts) (merge (get $s (first $parts) | default dict) (dict (last $parts) $value)) -}}
  {{- end -}}
{{- end -}}
{{- $s = mergeOverwrite $s (deepCopy (get $found "scheduler.config" | default dict)) -}}
{{- $enabled := get $found "scheduler.enabled" -}}
{{- $leads := ne (toString (($s.lease | default dict).use)) "false" -}}
{{- $registry := coalesce (get $found "global.imageRegistry") (get $found "scheduler.kubeScheduler.image.registry") "registry.k8s.io" -}}
{{- $repository := get $found "scheduler.kubeScheduler.image.repository" | default "kube-scheduler" -}}
{{- $tag := coalesce (get $found "scheduler.kubeScheduler.imageTag") (get $found "scheduler.kubeScheduler.image.tag") (regexFind "^v[0-9]+\\.[0-9]+\\.[0-9]+" .root.Capabilities.KubeVersion.Version) -}}
{{- $status := ($s.status | default dict).address | default ":9395" -}}
{{- dict
  "enabled" (ternary $enabled (eq .v.style "hami") (hasKey $found "scheduler.enabled"))
  "settings" $s
  "leads" $leads
  "replicas" (ternary (get $found "scheduler.replicas" | default 2) 1 $leads)
  "lease" (($s.lease | default dict).name | default (first $s.schedulerNames))
  "kubeScheduler" (printf "%s/%s:%v" $registry $repository $tag)
  "port" (regexFind "[0-9]+$" $status | int)
  "webhook" (ne (toString (get $found "scheduler.admissionWebhook.enabled")) "false")
  "timeout" (get $found "scheduler.extenderHTTPTimeout" | default 30)
  | toYaml -}}
{{- end -}}
