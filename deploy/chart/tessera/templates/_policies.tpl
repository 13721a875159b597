{{- /* SPDX-License-Identifier: Apache-2.0 */ -}}

{{- /* Whom the policies are about. Argument: the values. */ -}}
{{- define "tessera.policies" -}}
{{- $p := .set.policies -}}
{{- $own := ternary (list .name) list (and .agent.enabled .agent.api) -}}
{{- $shares := ternary $own list .agent.requested -}}
{{- $accounts := list -}}
{{- range concat $own ($p.accounts | default list) -}}{{- $accounts = append $accounts (printf "system:serviceaccount:%s:%s" $.namespace .) -}}{{- end -}}
{{- $shareAccounts := list -}}
{{- range concat $shares ($p.shareAccounts | default list) -}}{{- $shareAccounts = append $shareAccounts (printf "system:serviceaccount:%s:%s" $.namespace .) -}}{{- end -}}
{{- $writers := list -}}
{{- range list "hami-scheduler" "tessera-scheduler" -}}{{- $writers = append $writers (printf "system:serviceaccount:%s:%s" $.namespace .) -}}{{- end -}}
{{- $writers = concat $writers $shareAccounts (list (printf "system:serviceaccount:%s:hami-device-plugin" .namespace)) ($p.writers | default list) -}}
{{- dict
  "enabled" (eq (toString $p.enabled) "true")
  "accounts" $accounts "shareAccounts" $shareAccounts "writers" (uniq $writers)
  "labelsNodes" .agent.labels
  "exempt" (prepend ($p.exemptNamespaces | default list) .namespace)
  | toYaml -}}
{{- end -}}

{{- define "tessera.quoted" -}}
{{- range $n, $one := . -}}{{- if $n }}, {{ end -}}'{{ $one }}'{{- end -}}
{{- end -}}
