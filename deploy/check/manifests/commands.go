package manifests

import (
	"fmt"
	"regexp"
	"strings"
)

// HelpOf gives what `hopgap VERB --help` prints; an error if there is no such verb.
type HelpOf func(verb string) (string, error)

// CheckCommands says which arguments, and which HOPGAP_ variables, of our own containers the program does not know.
// A variable that no flag reads would be ignored without a word.
func CheckCommands(objects []Object, help HelpOf) []string {
	var findings []string
	for _, object := range objects {
		for _, container := range containersOf(object) {
			if ours(container) && container["command"] == nil {
				for _, finding := range checkCommand(container, help) {
					findings = append(findings, fmt.Sprintf("%s: %v: %s", object.Name(), container["name"], finding))
				}
			}
		}
	}
	return findings
}

func checkCommand(container map[string]any, help HelpOf) []string {
	var findings []string
	arguments := asList(container["args"])
	verb := asText(at(arguments, 0))
	text, err := help(verb)
	if err != nil {
		return []string{fmt.Sprintf("hopgap has no verb '%s'", verb)}
	}
	for _, argument := range arguments[1:] {
		flag, _, _ := strings.Cut(asText(argument), "=")
		if !hasFlag(text, flag) {
			findings = append(findings, fmt.Sprintf("hopgap %s has no %s", verb, flag))
		}
	}
	for _, entry := range asList(container["env"]) {
		name := asText(at(entry, "name"))
		if !strings.HasPrefix(name, "HOPGAP_") {
			continue
		}
		flag := "--" + strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(name, "HOPGAP_")), "_", "-")
		if !hasFlag(text, flag) {
			findings = append(findings, fmt.Sprintf("%s: hopgap %s has no %s, so nothing reads it", name, verb, flag))
		}
	}
	return findings
}

func hasFlag(help, flag string) bool {
	return strings.HasPrefix(flag, "--") &&
		regexp.MustCompile(`(^|[\s,])`+regexp.QuoteMeta(flag)+`($|[^A-Za-z0-9-])`).MatchString(help)
}
