// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/remotecommand"
)

const npu = v1.ResourceName("dummy.com/npu")

func (c *cluster) pods() corev1.PodInterface {
	return c.client.CoreV1().Pods(metav1.NamespaceDefault)
}

// podOf makes a pod of one container that asks for this many NPUs and runs a shell script.
func podOf(name string, count int64, script string) *v1.Pod {
	limits := v1.ResourceList{}
	if count > 0 {
		limits[npu] = *resource.NewQuantity(count, resource.DecimalSI)
	}
	no := false
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1.PodSpec{
			RestartPolicy:                v1.RestartPolicyNever,
			AutomountServiceAccountToken: &no,
			EnableServiceLinks:           &no,
			Containers: []v1.Container{{
				Name: "main", Image: busyboxImage, Command: []string{"sh", "-c", script},
				Resources: v1.ResourceRequirements{Limits: limits},
			}},
		},
	}
}

// These are scripts of pods. `stay` runs until tellToEnd or the deletion of its pod.
const (
	printIDs        = `echo "$DUMMY_VISIBLE_DEVICES"; `
	stay            = `trap 'exit 0' TERM; mkfifo /tmp/end; cat /tmp/end & wait`
	printIDsAndStay = printIDs + stay
	tellToEnd       = `echo > /tmp/end`
)

// create creates a pod. The test's end removes it together with the agent.
func (c *cluster) create(t *testing.T, pod *v1.Pod) {
	t.Helper()
	_, err := c.pods().Create(t.Context(), pod, metav1.CreateOptions{})
	must(t, err)
}

// removePods deletes all pods of the tests and waits until they are gone from the API. By then
// their containers are gone as well.
func (c *cluster) removePods(ctx context.Context) error {
	err := c.pods().DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})
	if err != nil {
		return err
	}
	return waitUntilAll(func(ctx context.Context) (int, error) {
		list, err := c.pods().List(ctx, metav1.ListOptions{})
		if err != nil {
			return math.MinInt, err
		}
		if len(list.Items) > 0 {
			err = fmt.Errorf("%d pods are still there, %s among them", len(list.Items), list.Items[0].Name)
		}
		return -len(list.Items), err
	})
}

func (c *cluster) pod(t *testing.T, name string) *v1.Pod {
	t.Helper()
	pod, err := c.pods().Get(t.Context(), name, metav1.GetOptions{})
	must(t, err)
	return pod
}

// waitForPhase waits until the pod is in this phase, and returns it.
func (c *cluster) waitForPhase(t *testing.T, name string, phase v1.PodPhase) *v1.Pod {
	t.Helper()
	var pod *v1.Pod
	eventually(t, func(ctx context.Context) (err error) {
		if pod, err = c.pods().Get(ctx, name, metav1.GetOptions{}); err != nil {
			return err
		}
		if pod.Status.Phase != phase {
			return fmt.Errorf("pod %s is %s, not %s: %s", name, pod.Status.Phase, phase, describe(pod))
		}
		return nil
	})
	return pod
}

// lifeOf identifies a pod and its container. It changes if either is replaced or restarted.
func lifeOf(pod *v1.Pod) string {
	main := pod.Status.ContainerStatuses[0]
	return fmt.Sprint(pod.Name, " ", pod.UID, " ", pod.Status.Phase, " ", main.ContainerID, " ", main.RestartCount)
}

// describe joins the reasons and messages of a pod's status.
func describe(pod *v1.Pod) string {
	said := []string{pod.Status.Reason, pod.Status.Message}
	for _, condition := range pod.Status.Conditions {
		said = append(said, condition.Message)
	}
	for _, container := range pod.Status.ContainerStatuses {
		if waiting := container.State.Waiting; waiting != nil {
			said = append(said, waiting.Reason, waiting.Message)
		}
		if ended := container.State.Terminated; ended != nil {
			said = append(said, fmt.Sprintf("%s with %d", ended.Reason, ended.ExitCode), ended.Message)
		}
	}
	return strings.Join(strings.Fields(strings.Join(said, " ")), " ")
}

// waitsFor returns the scheduler's last reason why no node suits the pod, or "" if there is none.
func waitsFor(pod *v1.Pod) string {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == v1.PodScheduled && condition.Reason == v1.PodReasonUnschedulable {
			return condition.Message
		}
	}
	return ""
}

// waitForUnschedulable waits until the scheduler has found no node for the pod, and returns its
// reason.
func (c *cluster) waitForUnschedulable(t *testing.T, name string) string {
	t.Helper()
	var said string
	eventually(t, func(ctx context.Context) error {
		pod, err := c.pods().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if said = waitsFor(pod); said == "" {
			return fmt.Errorf("pod %s is %s: %s", name, pod.Status.Phase, describe(pod))
		}
		return nil
	})
	return said
}

// output returns the log of the pod's container once it is not empty.
func (c *cluster) output(t *testing.T, name string) string {
	t.Helper()
	var said string
	eventually(t, func(ctx context.Context) error {
		content, err := c.pods().GetLogs(name, &v1.PodLogOptions{}).DoRaw(ctx)
		if err == nil && len(content) == 0 {
			err = fmt.Errorf("pod %s has said nothing", name)
		}
		said = string(content)
		return err
	})
	return said
}

// run runs a command in a pod's first container, as "kubectl exec" does, and returns its output.
func (c *cluster) run(ctx context.Context, pod *v1.Pod, command ...string) (string, error) {
	request := c.client.CoreV1().RESTClient().Post().Resource("pods").
		Namespace(pod.Namespace).Name(pod.Name).SubResource("exec").
		VersionedParams(&v1.PodExecOptions{
			Container: pod.Spec.Containers[0].Name, Command: command, Stdout: true, Stderr: true,
		}, scheme.ParameterCodec)
	executor, err := remotecommand.NewWebSocketExecutor(administrator(), "GET", request.URL().String())
	if err != nil {
		return "", err
	}
	var output, complaints bytes.Buffer // each is written by a goroutine of its own
	err = executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stdout: &output, Stderr: &complaints})
	said := output.String() + complaints.String()
	if err != nil {
		return "", fmt.Errorf("%s in %s: %w: %s", strings.Join(command, " "), pod.Name, err, said)
	}
	return said, nil
}
