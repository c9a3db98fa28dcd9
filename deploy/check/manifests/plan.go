package manifests

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// WritePlan writes, for each workload of an overlay, what a kubelet would start, as files that a shell can read:
//
//	FOLDER/services                      "SERVICE WORKLOAD" a line
//	FOLDER/WORKLOAD/user                 UID:GID
//	FOLDER/WORKLOAD/CONTAINER/image      and args, env (NAME=VALUE): one a line, references resolved
//	FOLDER/WORKLOAD/CONTAINER/ready      PORT/PATH of the readiness probe; just PORT if it only connects
//	FOLDER/WORKLOAD/CONTAINER/mounts     "VOLUME PATH" a line
//	FOLDER/WORKLOAD/volumes/VOLUME/…     the files of a ConfigMap; an empty folder for an emptyDir
func WritePlan(objects []Object, folder string) error {
	planner := planner{rules{have: map[string]Object{}}, folder, nil}
	for _, object := range objects {
		planner.have[object.Name()] = object
	}
	var services []string
	for _, object := range objects {
		if object["kind"] == "Service" {
			for _, workload := range planner.selected(asMap(at(object, "spec", "selector"))) {
				services = append(services, asText(at(object, "metadata", "name"))+" "+asText(at(workload, "metadata", "name")))
			}
		}
		if podOf(object) != nil {
			planner.workload(object)
		}
	}
	planner.write("services", services)
	return planner.err
}

type planner struct {
	rules
	folder string
	err    error
}

func (p *planner) write(name string, lines []string) {
	text := strings.Join(lines, "\n")
	if len(lines) > 0 {
		text += "\n"
	}
	p.writeText(name, text)
}

func (p *planner) writeText(name, text string) {
	file := filepath.Join(p.folder, name)
	if p.err == nil {
		p.err = os.MkdirAll(filepath.Dir(file), 0o755)
	}
	if p.err == nil {
		p.err = os.WriteFile(file, []byte(text), 0o644)
	}
}

func (p *planner) workload(object Object) {
	name := asText(at(object, "metadata", "name"))
	spec := asMap(at(podOf(object), "spec"))
	p.write(name+"/user", []string{fmt.Sprintf("%v:%v", at(spec, "securityContext", "runAsUser"), at(spec, "securityContext", "runAsGroup"))})
	for _, volume := range asList(spec["volumes"]) {
		place := name + "/volumes/" + asText(at(volume, "name"))
		if p.err == nil {
			p.err = os.MkdirAll(filepath.Join(p.folder, place), 0o755)
		}
		if configMap := at(volume, "configMap", "name"); configMap != nil {
			for file, text := range asMap(p.have["ConfigMap/"+asText(configMap)]["data"]) {
				p.writeText(place+"/"+file, asText(text))
			}
		}
	}
	for _, container := range containersOf(object) {
		p.container(name+"/"+asText(container["name"])+"/", object, container)
	}
}

func (p *planner) container(place string, object Object, container map[string]any) {
	values := map[string]string{}
	expand := func(text string) string {
		return reference.ReplaceAllStringFunc(text, func(match string) string {
			if value, known := values[match[2:len(match)-1]]; known {
				return value
			}
			return match
		})
	}
	var environment, arguments, mounts []string
	set := func(name, value string) {
		values[name] = value
		environment = append(environment, name+"="+value)
	}
	for _, from := range asList(container["envFrom"]) {
		for key, value := range asMap(p.have["ConfigMap/"+asText(at(from, "configMapRef", "name"))]["data"]) {
			set(key, asText(value))
		}
	}
	for _, entry := range asList(container["env"]) {
		set(asText(at(entry, "name")), expand(p.valueOf(object, entry)))
	}
	for _, argument := range asList(container["args"]) {
		arguments = append(arguments, expand(asText(argument)))
	}
	for _, mount := range asList(container["volumeMounts"]) {
		mounts = append(mounts, asText(at(mount, "name"))+" "+asText(at(mount, "mountPath")))
	}
	p.write(place+"image", []string{asText(container["image"])})
	p.write(place+"args", arguments)
	p.write(place+"env", environment)
	p.write(place+"mounts", mounts)
	p.write(place+"ready", p.readiness(container))
}

func (p *planner) valueOf(object Object, entry any) string {
	if key := at(entry, "valueFrom", "configMapKeyRef"); key != nil {
		return asText(at(p.have["ConfigMap/"+asText(at(key, "name"))], "data", asText(at(key, "key"))))
	}
	if field := asText(at(entry, "valueFrom", "fieldRef", "fieldPath")); field != "" {
		label := strings.TrimSuffix(strings.TrimPrefix(field, "metadata.labels['"), "']")
		return asText(at(podOf(object), "metadata", "labels", label))
	}
	return asText(at(entry, "value"))
}

func (p *planner) readiness(container map[string]any) []string {
	probe := asMap(container["readinessProbe"])
	for _, port := range asList(container["ports"]) {
		number := fmt.Sprint(at(port, "containerPort"))
		if at(probe, "httpGet", "port") == at(port, "name") {
			return []string{number + asText(at(probe, "httpGet", "path"))}
		}
		if at(probe, "tcpSocket", "port") == at(port, "name") {
			return []string{number}
		}
	}
	return nil
}
