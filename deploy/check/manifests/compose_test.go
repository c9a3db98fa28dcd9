package manifests

import (
	"context"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
)

// compose reads a file as `docker compose --profile load config` does: against its schema, anchors and variables resolved.
func compose(t *testing.T, file string) *types.Project {
	t.Helper()
	options, err := cli.NewProjectOptions([]string{file}, cli.WithName("check"), cli.WithProfiles([]string{"*"}))
	if err != nil {
		t.Fatal(err)
	}
	project, err := options.LoadProject(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return project
}

// asContainers turns services into what CheckCommands reads.
func asContainers(project *types.Project) (objects []Object) {
	for name, service := range project.Services {
		container := map[string]any{"name": name, "image": service.Image}
		if service.Entrypoint != nil {
			container["command"] = service.Entrypoint
		}
		var arguments, environment []any
		for _, word := range service.Command {
			arguments = append(arguments, word)
		}
		for variable := range service.Environment {
			environment = append(environment, map[string]any{"name": variable})
		}
		container["args"], container["env"] = arguments, environment
		objects = append(objects, Object{"kind": "Deployment", "metadata": map[string]any{"name": name},
			"spec": map[string]any{"template": map[string]any{"spec": map[string]any{"containers": []any{container}}}}})
	}
	return objects
}

func TestComposeRunsTheExperimentWithWhatHopgapHas(t *testing.T) {
	project := compose(t, "../../../compose.yaml")
	for _, finding := range CheckCommands(asContainers(project), hopgapHelp(t)) {
		t.Error(finding)
	}
	for _, arm := range []string{"std", "eos"} {
		api := project.Services["api-"+arm].Environment["HOPGAP_TOPIC"]
		if api == nil || *api != "projects/local/topics/"+arm+"-hop1" {
			t.Errorf("api-%s publishes to %v", arm, api)
		}
		for hop, next := range map[string]string{"1": "2", "2": "3", "3": ""} {
			environment := project.Services["worker"+hop+"-"+arm].Environment
			subscription, topic := environment["HOPGAP_SUBSCRIPTION"], environment["HOPGAP_NEXT_TOPIC"]
			if subscription == nil || *subscription != "projects/local/subscriptions/"+arm+"-hop"+hop+"-sub" {
				t.Errorf("worker %s of %s reads %v", hop, arm, subscription)
			}
			if got := topic != nil; got != (next != "") || got && *topic != "projects/local/topics/"+arm+"-hop"+next {
				t.Errorf("worker %s of %s publishes to %v", hop, arm, topic)
			}
		}
	}
}

func TestComposeServicesDoWithoutRights(t *testing.T) {
	for name, service := range compose(t, "../../../compose.yaml").Services {
		if len(service.CapDrop) != 1 || service.CapDrop[0] != "ALL" || service.Privileged {
			t.Errorf("%s: cap_drop has to be ALL", name)
		}
		if root := strings.HasPrefix(service.User, "0"); root && name != "traces-folder" {
			t.Errorf("%s: runs as root", name)
		}
		for _, port := range service.Ports {
			if port.HostIP != "127.0.0.1" {
				t.Errorf("%s: listens beyond loopback on %s", name, port.Published)
			}
		}
	}
}

func TestComposeExampleForTests(t *testing.T) {
	project := compose(t, "../../../examples/ci/compose.yaml")
	if host := project.Services["tests"].Environment["PUBSUB_EMULATOR_HOST"]; host == nil || *host != "pubsub:8085" {
		t.Errorf("tests ask %v", host)
	}
	if on := project.Services["tests"].DependsOn["pubsub"].Condition; on != types.ServiceConditionHealthy {
		t.Errorf("tests wait for pubsub to be %s", on)
	}
}
