// Package manifests renders deploy/k8s as kustomize does and checks what comes out: against Kubernetes' own published
// schema, against the rules of this house, and against the help of the program that the containers run.
package manifests

import (
	"fmt"
	"strings"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// Object is one Kubernetes object, as JSON would have it.
type Object map[string]any

// Name is "Kind/name", which findings begin with.
func (o Object) Name() string {
	return fmt.Sprintf("%v/%v", o["kind"], at(o, "metadata", "name"))
}

// Render gives the objects of one overlay, in kustomize's order.
func Render(folder string) ([]Object, error) {
	options := krusty.MakeDefaultOptions()
	options.Reorder = krusty.ReorderOptionLegacy
	rendered, err := krusty.MakeKustomizer(options).Run(filesys.MakeFsOnDisk(), folder)
	if err != nil {
		return nil, err
	}
	var objects []Object
	for _, resource := range rendered.Resources() {
		object, err := resource.Map()
		if err != nil {
			return nil, err
		}
		objects = append(objects, object)
	}
	return objects, nil
}

// at follows keys (string) and positions (int) into a value; nil where the way ends.
func at(value any, path ...any) any {
	for _, step := range path {
		switch key := step.(type) {
		case string:
			value = asMap(value)[key]
		case int:
			list := asList(value)
			if key >= len(list) {
				return nil
			}
			value = list[key]
		}
	}
	return value
}

func asMap(value any) map[string]any {
	switch typed := value.(type) {
	case Object:
		return typed
	case map[string]any:
		return typed
	}
	return nil
}

func asList(value any) []any {
	list, _ := value.([]any)
	return list
}

func asText(value any) string {
	text, _ := value.(string)
	return text
}

// podOf is the pod template of a workload, nil for anything else.
func podOf(object Object) map[string]any {
	switch object["kind"] {
	case "Deployment", "StatefulSet", "DaemonSet", "Job":
		return asMap(at(object, "spec", "template"))
	}
	return nil
}

// containersOf are the containers of a workload, initial ones first.
func containersOf(object Object) []map[string]any {
	var all []map[string]any
	for _, list := range []string{"initContainers", "containers"} {
		for _, container := range asList(at(podOf(object), "spec", list)) {
			all = append(all, asMap(container))
		}
	}
	return all
}

// ours says whether a container runs hopgap.
func ours(container map[string]any) bool {
	image, _, _ := strings.Cut(asText(container["image"]), ":")
	return image == "hopgap" || strings.HasSuffix(image, "/hopgap")
}
