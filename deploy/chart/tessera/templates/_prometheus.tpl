{{- /* SPDX-License-Identifier: Apache-2.0 */ -}}

{{- /* What Prometheus Operator scrapes at a port. Arguments: port, interval, dcgm. */ -}}
{{- define "tessera.endpoint" -}}
- port: {{ .port }}
  {{- if .dcgm }}
  path: /dcgm/metrics
  honorLabels: false     # queries of DCGM's exporter say exported_namespace, exported_pod and exported_container
  {{- else }}
  honorLabels: true      # the labels namespace, pod and container are those of the pods with devices
  {{- end }}
  interval: {{ .interval | default "15s" }}
  relabelings:
    - { sourceLabels: [__meta_kubernetes_pod_node_name], targetLabel: node }
    {{- if .dcgm }}
    - { targetLabel: endpoint, replacement: dcgm }     # a target of its own, at the same port
    {{- end }}
{{- end -}}

{{- /* The agent's. Arguments: agent, interval. */ -}}
{{- define "tessera.agentEndpoints" -}}
{{- include "tessera.endpoint" (dict "port" "http" "interval" .interval) -}}
{{- if .agent.monitor }}
{{ include "tessera.endpoint" (dict "port" "monitorport" "interval" .interval) -}}
{{- if .agent.dcgm }}
{{ include "tessera.endpoint" (dict "port" "monitorport" "interval" .interval "dcgm" true) -}}
{{- end -}}
{{- end -}}
{{- end -}}
