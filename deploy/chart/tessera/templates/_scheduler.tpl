{{- /* SPDX-License-Identifier: Apache-2.0 */ -}}

{{- define "tessera.secrets" -}}
{{- $all := list -}}
{{- range . -}}{{- $all = append $all (ternary . (dict "name" .) (kindIs "map" .)) -}}{{- end -}}
{{- toYaml $all -}}
{{- end -}}

{{- /* Whether HAMi's file says more than the defaults. Argument: the values. */ -}}
{{- define "tessera.usesDeviceConfig" -}}
{{- if or (gt (len .devices) 1) (not (empty .devices.nvidia)) }}yes{{ end -}}
{{- end -}}

{{- /* The files of the two schedulers. Arguments: root, v. */ -}}
{{- define "tessera.schedulerFiles" -}}
{{- $s := .v.scheduler -}}
kube-scheduler.yaml: |
  apiVersion: kubescheduler.config.k8s.io/v1
  kind: KubeSchedulerConfiguration
  leaderElection:
    leaderElect: {{ $s.leads }}
    resourceLock: leases
    resourceName: {{ $s.lease }}         # lease.name; named in the Role as well
    resourceNamespace: {{ .v.namespace }}
  percentageOfNodesToScore: 100          # a sample of nodes may have none with GPUs
  profiles:                              # each of schedulerNames has one
    {{- range $s.settings.schedulerNames }}
    - schedulerName: {{ . }}
    {{- end }}
  extenders:
    - urlPrefix: http://127.0.0.1:9444   # extender.address
      filterVerb: filter
      prioritizeVerb: prioritize         # of pods that prefer nodes
      weight: 1
      preemptVerb: preempt
      bindVerb: bind
      nodeCacheCapable: true
      httpTimeout: {{ $s.timeout }}s
      managedResources:
        # The first of each vendor is counted by kube-scheduler too: nodes that have none left are not asked about.
        {{- range .v.resources.rows }}
        {{- range $n, $name := . }}
        - { name: {{ $name }}{{ if $n }}, ignoredByScheduler: true{{ end }} }
        {{- end }}
        {{- end }}
scheduler.yaml: |
  {{- toYaml $s.settings | nindent 2 }}
{{- if include "tessera.usesDeviceConfig" .v }}
device-config.yaml: |
  {{- get .v.found "device-config.content" | default (toYaml .v.devices) | trim | nindent 2 }}
{{- end }}
{{- end -}}

{{- /* HAMi's label keeps pods and namespaces out, as do more terms. Arguments: a selector, namespaces to leave out. */ -}}
{{- define "tessera.selector" -}}
{{- $given := first . | default dict -}}
{{- with $given.matchLabels -}}
matchLabels:
  {{- toYaml . | nindent 2 }}
{{ end -}}
matchExpressions:
  - { key: hami.io/webhook, operator: NotIn, values: [ignore] }
  {{- with last . }}
  - { key: kubernetes.io/metadata.name, operator: NotIn, values: {{ toJson . }} }
  {{- end }}
  {{- with $given.matchExpressions }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}
