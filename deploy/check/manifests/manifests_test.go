package manifests

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

const overlays = "../../k8s/overlays"

// What `./dev deploy-check` sets; without them nothing could be said, so that is a failure and no skip.
func fromEnvironment(t *testing.T, name string) string {
	t.Helper()
	value := os.Getenv(name)
	if value == "" {
		t.Fatalf("%s is not set: run ./dev deploy-check", name)
	}
	return value
}

func schema(t *testing.T) *Schema {
	t.Helper()
	schema, err := ReadSchema(fromEnvironment(t, "HOPGAP_KUBERNETES_SCHEMA"))
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func hopgapHelp(t *testing.T) HelpOf {
	t.Helper()
	program := fromEnvironment(t, "HOPGAP_PROGRAM")
	return func(verb string) (string, error) {
		text, err := exec.Command(program, verb, "--help").CombinedOutput()
		// For a verb that it does not have it prints its own help.
		if err == nil && !strings.Contains(string(text), filepath.Base(program)+" "+verb+" ") {
			err = errors.New("it is not in the help")
		}
		return string(text), err
	}
}

func render(t *testing.T, folder string) []Object {
	t.Helper()
	objects, err := Render(folder)
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

func overlayFolders(t *testing.T) []string {
	t.Helper()
	folders, err := filepath.Glob(overlays + "/*/kustomization.yaml")
	if err != nil || len(folders) < 2 {
		t.Fatalf("no overlays below %s (%v)", overlays, err)
	}
	for i, file := range folders {
		folders[i] = filepath.Dir(file)
	}
	return folders
}

func TestEveryOverlayIsWhatTheApiServerTakes(t *testing.T) {
	schema := schema(t)
	for _, folder := range overlayFolders(t) {
		t.Run(filepath.Base(folder), func(t *testing.T) {
			objects := render(t, folder)
			for _, object := range objects {
				for _, finding := range schema.Check(object) {
					t.Error(finding)
				}
			}
			for _, finding := range CheckRules(objects) {
				t.Error(finding)
			}
		})
	}
}

func TestEveryContainerAsksHopgapForWhatItHas(t *testing.T) {
	help := hopgapHelp(t)
	for _, folder := range overlayFolders(t) {
		t.Run(filepath.Base(folder), func(t *testing.T) {
			for _, finding := range CheckCommands(render(t, folder), help) {
				t.Error(finding)
			}
		})
	}
}

func names(objects []Object, kind string) (names []string) {
	for _, object := range objects {
		if object["kind"] == kind {
			names = append(names, asText(at(object, "metadata", "name")))
		}
	}
	return names
}

func TestOverlaysHoldThePublishedExperiment(t *testing.T) {
	chain := []string{"api-eos", "api-std", "collector", "worker1-eos", "worker1-std", "worker2-eos", "worker2-std",
		"worker3-eos", "worker3-std"}
	for overlay, want := range map[string]struct {
		broker        bool
		rate, streams string
	}{
		"local": {true, "1", "4"}, "local-5rps": {true, "5", "10"}, "gke": {false, "1", "4"}, "gke-5rps": {false, "5", "10"},
	} {
		t.Run(overlay, func(t *testing.T) {
			objects := render(t, filepath.Join(overlays, overlay))
			if got := names(objects, "Deployment"); !reflect.DeepEqual(got, chain) {
				t.Errorf("Deployments: %v", got)
			}
			if got := len(names(objects, "StatefulSet")) == 1; got != want.broker {
				t.Errorf("has a broker of its own: %v", got)
			}
			if got := names(objects, "Job"); !reflect.DeepEqual(got, []string{"k6", "setup"}) {
				t.Errorf("Jobs: %v", got)
			}
			settings, load := dataOf(t, objects, "settings"), dataOf(t, objects, "load")
			if load["RATE"] != want.rate || load["DURATION"] != "30s" || settings["HOPGAP_STREAMS"] != want.streams ||
				settings["HOPGAP_WORK"] != "200ms" {
				t.Errorf("settings %v, load %v", settings, load)
			}
		})
	}
}

// dataOf finds a generated ConfigMap, whose name ends in a hash of its content.
func dataOf(t *testing.T, objects []Object, name string) map[string]any {
	t.Helper()
	for _, full := range names(objects, "ConfigMap") {
		if strings.HasPrefix(full, name+"-") {
			for _, object := range objects {
				if object.Name() == "ConfigMap/"+full {
					return asMap(object["data"])
				}
			}
		}
	}
	t.Fatalf("no ConfigMap %s", name)
	return nil
}

// A chain is one only if each worker publishes to what the next one reads.
func TestEachWorkerPublishesToTheNextHop(t *testing.T) {
	objects := render(t, filepath.Join(overlays, "local"))
	environment := map[string]map[string]string{}
	for _, object := range objects {
		for _, container := range containersOf(object) {
			values := map[string]string{}
			for _, entry := range asList(container["env"]) {
				values[asText(at(entry, "name"))] = asText(at(entry, "value"))
			}
			values["arm"], values["hop"] = asText(at(podOf(object), "metadata", "labels", "arm")), asText(at(podOf(object), "metadata", "labels", "hop"))
			environment[asText(at(object, "metadata", "name"))] = values
		}
	}
	const topic = "projects/$(PROJECT)/topics/$(PREFIX)$(HOPGAP_ARM)-hop"
	for _, arm := range []string{"std", "eos"} {
		if got := environment["api-"+arm]["HOPGAP_TOPIC"]; got != topic+"1" {
			t.Errorf("api-%s publishes to %s", arm, got)
		}
		for hop, next := range map[string]string{"1": topic + "2", "2": topic + "3", "3": ""} {
			worker := environment["worker"+hop+"-"+arm]
			if worker["arm"] != arm || worker["hop"] != hop || worker["HOPGAP_NEXT_TOPIC"] != next {
				t.Errorf("worker %s of %s: %v", hop, arm, worker)
			}
		}
	}
}

// The checks are checked by planting a breach of each.
func TestPlantedFaultsAreFound(t *testing.T) {
	schema, local := schema(t), filepath.Join(overlays, "local")
	// Never asked for its own sake: that is the test above.
	help := func(verb string) (string, error) { return "  --listen TEXT\n  --topic TEXT\n", nil }
	for _, planted := range []struct{ old, new, want string }{
		{"readOnlyRootFilesystem: true", "readOnlyRootFileSystem: true", "readOnlyRootFileSystem: there is no such field"},
		{"replicas: 1", "replicas: one", "'one' is no whole number"},
		{"memory: 64Mi", "memory: 64MB", "'64MB' is no quantity"},
		{"kind: Deployment", "kind: Deploymnet", "there is no kind"},
		{"      containers:\n", "      containerz:\n", "containers is missing"},
		{"path: /readyz", "path: 5", "'5' is no text"},
		{"readOnlyRootFilesystem: true", "readOnlyRootFilesystem: false", "keep the root read-only"},
		{"runAsNonRoot: true", "runAsNonRoot: false", "runs as root"},
		{"targetPort: http", "targetPort: htpp", "targetPort 'htpp' is no port"},
		{"serviceAccountName: chain", "serviceAccountName: chian", "there is no ServiceAccount 'chian'"},
		{"key: HOPGAP_TARGET", "key: HOPGAP_TARGETS", "has no key HOPGAP_TARGETS"},
		{"/topics/$(PREFIX)", "/topics/$(PREFIXES)", "$(PREFIXES), which is not set"},
		{"metadata.labels['arm']", "metadata.labels['army']", "the pod has no label 'army'"},
		{"image: hopgap:local", "image: hopgap", "has no fixed tag"},
		{"livenessProbe:", "livelinessProbe:", "livenessProbe is missing"},
		{"cpu: 100m", "cqu: 100m", "resources.requests.cpu is not said"},
		{"--listen=0.0.0.0:8080", "--listens=0.0.0.0:8080", "hopgap api has no --listens"},
		{"name: HOPGAP_TOPIC", "name: HOPGAP_TOPICS", "HOPGAP_TOPICS: hopgap api has no --topics"},
	} {
		t.Run(planted.new, func(t *testing.T) {
			var objects []Object
			replaced := false
			for _, object := range render(t, local) {
				if name := object.Name(); name == "Deployment/api-std" || name == "Service/api-std" {
					text, err := yaml.Marshal(object)
					if err != nil {
						t.Fatal(err)
					}
					replaced = replaced || strings.Contains(string(text), planted.old)
					object = Object{}
					if err := yaml.Unmarshal([]byte(strings.Replace(string(text), planted.old, planted.new, 1)), &object); err != nil {
						t.Fatal(err)
					}
				}
				objects = append(objects, object)
			}
			if !replaced {
				t.Fatalf("'%s' is not there to be replaced", planted.old)
			}
			findings := append(CheckRules(objects), CheckCommands(objects, help)...)
			for _, object := range objects {
				findings = append(findings, schema.Check(object)...)
			}
			if all := strings.Join(findings, "\n"); !strings.Contains(all, planted.want) {
				t.Errorf("wanted '%s', found:\n%s", planted.want, all)
			}
		})
	}
}
