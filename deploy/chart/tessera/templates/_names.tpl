{{- /* SPDX-License-Identifier: Apache-2.0 */ -}}

{{- /* The beginning of all names. It always has "tessera", so an object of the former release is never changed. */ -}}
{{- define "tessera.fullname" -}}
{{- $name := .Values.fullnameOverride | default (.Values.nameOverride | default "" | printf "%s-%s" .Release.Name | trimSuffix "-") -}}
{{- if not (contains "tessera" $name) -}}{{- $name = printf "%s-tessera" ($name | trunc 42 | trimSuffix "-") -}}{{- end -}}
{{- $name | trunc 50 | trimSuffix "-" -}}
{{- end -}}

{{- define "tessera.namespace" -}}
{{- .Values.namespaceOverride | default .Release.Namespace -}}
{{- end -}}

{{- /* Labels of an object. Arguments: the root, and the name label. */ -}}
{{- define "tessera.labels" -}}
{{- $root := index . 0 -}}
app.kubernetes.io/name: {{ index . 1 }}
app.kubernetes.io/instance: {{ $root.Release.Name }}
app.kubernetes.io/version: {{ $root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ $root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" $root.Chart.Name $root.Chart.Version | replace "+" "_" }}
{{- end -}}

{{- /* Name, namespace and labels of an object. Arguments: the root, the object's name, and the name label. */ -}}
{{- define "tessera.metadata" -}}
name: {{ index . 1 }}
namespace: {{ include "tessera.namespace" (index . 0) }}
labels:
  {{- include "tessera.labels" (list (index . 0) (index . 2)) | nindent 2 }}
{{- end -}}

{{- /* The same of an object without a namespace. */ -}}
{{- define "tessera.metadata.cluster" -}}
name: {{ index . 1 }}
labels:
  {{- include "tessera.labels" (list (index . 0) (index . 2)) | nindent 2 }}
{{- end -}}

{{- define "tessera.hasPolicies" -}}
{{- if semverCompare ">=1.30.0-0" .Capabilities.KubeVersion.Version }}yes{{ end -}}
{{- end -}}

{{- /* What HAMi's chart calls the release. */ -}}
{{- define "tessera.hamisName" -}}
{{- $name := .Values.fullnameOverride | default (ternary .Release.Name (printf "%s-hami" .Release.Name) (contains "hami" .Release.Name)) -}}
{{- $name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
