package manifests

import (
	"fmt"
	"regexp"
	"strings"
)

// CheckRules says what the API server would take and would not work, or not be decent: selectors that select nothing,
// names that nothing has, containers without bounds, probes or the rights they should do without.
func CheckRules(objects []Object) []string {
	rules := rules{have: map[string]Object{}}
	for _, object := range objects {
		rules.have[object.Name()] = object
	}
	for _, object := range objects {
		switch object["kind"] {
		case "Service":
			rules.service(object)
		case "PodDisruptionBudget":
			rules.selects(object, asMap(at(object, "spec", "selector", "matchLabels")))
		}
		if podOf(object) != nil {
			rules.workload(object)
		}
	}
	return rules.findings
}

type rules struct {
	have     map[string]Object
	findings []string
}

func (r *rules) found(object Object, format string, arguments ...any) {
	r.findings = append(r.findings, object.Name()+": "+fmt.Sprintf(format, arguments...))
}

// selected are the workloads whose pods carry all the labels.
func (r *rules) selected(labels map[string]any) []Object {
	var all []Object
	for _, object := range r.have {
		if pod := podOf(object); pod != nil && subset(labels, asMap(at(pod, "metadata", "labels"))) {
			all = append(all, object)
		}
	}
	return all
}

func (r *rules) selects(object Object, labels map[string]any) []Object {
	workloads := r.selected(labels)
	if len(labels) == 0 {
		r.found(object, "the selector is empty, so it means every pod")
	} else if len(workloads) == 0 {
		r.found(object, "the selector %v selects no pod", labels)
	}
	return workloads
}

func (r *rules) service(object Object) {
	workloads := r.selects(object, asMap(at(object, "spec", "selector")))
	if len(workloads) > 1 {
		r.found(object, "the selector selects pods of %d workloads", len(workloads))
	}
	for _, workload := range workloads {
		ports := map[string]bool{}
		for _, container := range containersOf(workload) {
			for _, port := range asList(container["ports"]) {
				ports[asText(at(port, "name"))] = true
			}
		}
		for _, port := range asList(at(object, "spec", "ports")) {
			if target := asText(at(port, "targetPort")); !ports[target] {
				r.found(object, "targetPort '%s' is no port of %s", target, workload.Name())
			}
		}
	}
}

func (r *rules) workload(object Object) {
	pod := podOf(object)
	spec := asMap(pod["spec"])
	job := object["kind"] == "Job"
	if !job {
		labels := asMap(at(object, "spec", "selector", "matchLabels"))
		if workloads := r.selects(object, labels); len(workloads) > 1 {
			r.found(object, "the selector selects pods of %d workloads", len(workloads))
		}
		if !subset(labels, asMap(at(pod, "metadata", "labels"))) {
			r.found(object, "the selector does not select its own pods")
		}
		if spec["terminationGracePeriodSeconds"] == nil {
			r.found(object, "terminationGracePeriodSeconds is not said")
		}
	}
	for _, field := range []string{"automountServiceAccountToken", "enableServiceLinks"} {
		if spec[field] != false {
			r.found(object, "%s has to be false", field)
		}
	}
	if at(spec, "securityContext", "runAsNonRoot") != true || fmt.Sprint(at(spec, "securityContext", "runAsUser")) == "0" {
		r.found(object, "runs as root, or may")
	}
	if at(spec, "securityContext", "seccompProfile", "type") != "RuntimeDefault" {
		r.found(object, "seccompProfile is not RuntimeDefault")
	}
	r.refers(object, "ServiceAccount", asText(spec["serviceAccountName"]))
	volumes := map[string]bool{}
	for _, volume := range asList(spec["volumes"]) {
		volumes[asText(at(volume, "name"))] = true
		if name := at(volume, "configMap", "name"); name != nil {
			r.refers(object, "ConfigMap", asText(name))
		}
		if at(volume, "emptyDir") != nil && at(volume, "emptyDir", "sizeLimit") == nil {
			r.found(object, "volume %v has no sizeLimit", at(volume, "name"))
		}
	}
	for _, container := range containersOf(object) {
		r.container(object, container, volumes)
	}
}

func (r *rules) container(object Object, container map[string]any, volumes map[string]bool) {
	name := asText(container["name"])
	if image := asText(container["image"]); !regexp.MustCompile(`:[A-Za-z0-9._-]+$`).MatchString(image) ||
		strings.HasSuffix(image, ":latest") {
		r.found(object, "%s: image '%s' has no fixed tag", name, image)
	}
	for _, path := range [][]any{{"requests", "cpu"}, {"requests", "memory"}, {"limits", "memory"}} {
		if at(container["resources"], path...) == nil {
			r.found(object, "%s: resources.%v.%v is not said", name, path[0], path[1])
		}
	}
	if at(container, "resources", "limits", "cpu") != nil {
		r.found(object, "%s: a CPU limit throttles, and a throttled process looks like slow delivery", name)
	}
	security := asMap(container["securityContext"])
	if security["allowPrivilegeEscalation"] != false || security["readOnlyRootFilesystem"] != true ||
		at(security, "capabilities", "drop", 0) != "ALL" || at(security, "capabilities", "add") != nil {
		r.found(object, "%s: securityContext has to drop ALL, forbid escalation and keep the root read-only", name)
	}
	ports := map[string]bool{}
	for _, port := range asList(container["ports"]) {
		ports[asText(at(port, "name"))] = true
	}
	if len(ports) > 0 {
		r.probes(object, container, ports)
	}
	for _, mount := range asList(container["volumeMounts"]) {
		if !volumes[asText(at(mount, "name"))] {
			r.found(object, "%s: there is no volume '%v'", name, at(mount, "name"))
		}
	}
	for _, from := range asList(container["envFrom"]) {
		r.refers(object, "ConfigMap", asText(at(from, "configMapRef", "name")))
	}
	r.environment(object, container)
}

func (r *rules) probes(object Object, container map[string]any, ports map[string]bool) {
	for _, probe := range []string{"startupProbe", "livenessProbe", "readinessProbe"} {
		port := at(container, probe, "httpGet", "port")
		if port == nil {
			port = at(container, probe, "tcpSocket", "port")
		}
		if !ports[asText(port)] {
			r.found(object, "%v: %s is missing, or asks a port that has no name", container["name"], probe)
		}
	}
}

var reference = regexp.MustCompile(`\$\(([^)]*)\)`)

// environment: what a value refers to stands before it (the kubelet leaves anything else as it is), and keys exist.
func (r *rules) environment(object Object, container map[string]any) {
	before := map[string]bool{}
	for _, entry := range asList(container["env"]) {
		name := asText(at(entry, "name"))
		if before[name] {
			r.found(object, "%v: %s is set twice", container["name"], name)
		}
		for _, match := range reference.FindAllStringSubmatch(asText(at(entry, "value")), -1) {
			if !before[match[1]] {
				r.found(object, "%v: %s refers to %s, which is not set before it", container["name"], name, match[0])
			}
		}
		if key := at(entry, "valueFrom", "configMapKeyRef"); key != nil {
			if data := r.refers(object, "ConfigMap", asText(at(key, "name"))); data != nil &&
				at(data, "data", asText(at(key, "key"))) == nil {
				r.found(object, "%v: ConfigMap %v has no key %v", container["name"], at(key, "name"), at(key, "key"))
			}
		}
		if field := asText(at(entry, "valueFrom", "fieldRef", "fieldPath")); strings.HasPrefix(field, "metadata.labels['") {
			label := strings.TrimSuffix(strings.TrimPrefix(field, "metadata.labels['"), "']")
			if at(podOf(object), "metadata", "labels", label) == nil {
				r.found(object, "%v: the pod has no label '%s'", container["name"], label)
			}
		}
		before[name] = true
	}
	for _, argument := range asList(container["args"]) {
		for _, match := range reference.FindAllStringSubmatch(asText(argument), -1) {
			if !before[match[1]] {
				r.found(object, "%v: %v refers to what is not set", container["name"], argument)
			}
		}
	}
}

func (r *rules) refers(object Object, kind, name string) Object {
	there, ok := r.have[kind+"/"+name]
	if !ok {
		r.found(object, "there is no %s '%s'", kind, name)
	}
	return there
}

func subset(part, whole map[string]any) bool {
	for key, value := range part {
		if whole[key] != value {
			return false
		}
	}
	return true
}
