// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

const notOver = ": a volume must not cover the files that enforce a container's limits; mount it elsewhere"

// mounting makes a pod with an app container and an init container. The n-th of them mounts an
// empty volume at the path.
func mounting(path string, n int) *v1.Pod {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "mounting"}, Spec: v1.PodSpec{
		NodeName:       policyNode,
		Containers:     []v1.Container{{Name: "main", Image: "none"}},
		InitContainers: []v1.Container{{Name: "init", Image: "none"}},
		Volumes:        []v1.Volume{{Name: "volume"}, {Name: "other"}},
	}}
	one := []*v1.Container{&pod.Spec.Containers[0], &pod.Spec.InitContainers[0]}[n]
	one.VolumeMounts = []v1.VolumeMount{{Name: "other", MountPath: "/other"}, {Name: "volume", MountPath: path}}
	return pod
}

func makeMounting(ctx context.Context, client kubernetes.Interface, namespace string, pod *v1.Pod) error {
	_, err := client.CoreV1().Pods(namespace).Create(ctx, pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	return err
}

func (c *cluster) installMountPolicy(t *testing.T) *kubernetes.Clientset {
	t.Helper()
	user := as(t, anybody, "")
	c.installPolicies(t, []string{anybody}, func(ctx context.Context) error {
		return makeMounting(ctx, user, metav1.NamespaceDefault, mounting("/run/tessera", 0))
	}, c.readManifests(t, mountPolicy)...)
	return user
}

func TestNoPodMountsOverWhatHoldsContainersToTheirLimits(t *testing.T) {
	c := theCluster(t)
	user := c.installMountPolicy(t)
	refused := map[string]string{ // path in the pod -> path in the refusal, "" if they are equal
		"/run/tessera": "", "/run/tessera/": "/run/tessera", "/run/tessera/vgpu/limits": "",
		"/var/run/tessera/vgpu": "", "//run//tessera/": "/run/tessera", "/run/./tessera/vgpu": "/run/tessera/vgpu",
		"run/tessera": "/run/tessera", "./run/tessera/.": "/run/tessera", "/run/x/../tessera/vgpu": "",
		"/usr/local/vgpu": "", "/usr/local/vgpu/libvgpu.so": "", "/usr/local/x/../vgpu": "",
		"/etc/ld.so.preload": "", "/etc/ld.so.preload/": "/etc/ld.so.preload", "/etc/../etc/ld.so.preload": "",
	}
	for path, told := range refused {
		if told == "" {
			told = path
		}
		for n := range 2 {
			equal(t, path, refusal(makeMounting(t.Context(), user, metav1.NamespaceDefault, mounting(path, n))), told+notOver)
		}
	}
	for _, path := range []string{"/etc", "/run", "/usr/local", "/run/tessera-x", "/run/tesserae/vgpu", "/tessera",
		"/data/run/tessera", "/usr/local/vgpus", "/etc/ld.so.preload.d", "/data/../cache", "/var/lib/tessera"} {
		equal(t, path, refusal(makeMounting(t.Context(), user, metav1.NamespaceDefault, mounting(path, 0))), "")
	}
	equal(t, "an agent's pod", refusal(makeMounting(t.Context(), user, agentNamespace, mounting("/run/tessera", 0))), "")
}

func TestNoEphemeralContainerMountsOverThemEither(t *testing.T) {
	c := theCluster(t)
	user := c.installMountPolicy(t)
	pod := mounting("/data", 0)
	t.Cleanup(func() { must(t, c.removePod(context.Background(), pod.Name)) })
	made, err := user.CoreV1().Pods(metav1.NamespaceDefault).Create(t.Context(), pod, metav1.CreateOptions{})
	must(t, err)
	for path, want := range map[string]string{"/run/tessera/vgpu": "/run/tessera/vgpu" + notOver, "/data": ""} {
		debugged := made.DeepCopy()
		debugged.Spec.EphemeralContainers = []v1.EphemeralContainer{{EphemeralContainerCommon: v1.EphemeralContainerCommon{
			Name: "debug" + strings.ReplaceAll(path, "/", "-"), Image: "none",
			VolumeMounts: []v1.VolumeMount{{Name: "volume", MountPath: path}}}}}
		_, err := user.CoreV1().Pods(metav1.NamespaceDefault).UpdateEphemeralContainers(t.Context(), made.Name, debugged,
			metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}})
		equal(t, path, refusal(err), want)
	}
}
