package manifests

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"regexp"
	"sort"
	"strings"
)

// Schema is Kubernetes' published OpenAPI document (api/openapi-spec/swagger.json of k8s.io/kubernetes).
type Schema struct {
	definitions map[string]map[string]any
	kinds       map[string]string // "apps/v1 Deployment" to the name of its definition
}

// ReadSchema reads the document.
func ReadSchema(file string) (*Schema, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var document struct {
		Definitions map[string]map[string]any `json:"definitions"`
	}
	if err := json.Unmarshal(content, &document); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	schema := &Schema{document.Definitions, map[string]string{}}
	for name, definition := range document.Definitions {
		for _, kind := range asList(definition["x-kubernetes-group-version-kind"]) {
			version := asText(at(kind, "version"))
			if group := asText(at(kind, "group")); group != "" {
				version = group + "/" + version
			}
			schema.kinds[version+" "+asText(at(kind, "kind"))] = name
		}
	}
	if len(schema.kinds) < 50 {
		return nil, fmt.Errorf("%s: only %d kinds, so it is not Kubernetes' schema", file, len(schema.kinds))
	}
	return schema, nil
}

// Check says what of the object the API server would not take: unknown fields, missing ones, wrong types.
func (s *Schema) Check(object Object) []string {
	kind := fmt.Sprintf("%v %v", object["apiVersion"], object["kind"])
	name, known := s.kinds[kind]
	if !known {
		return []string{fmt.Sprintf("%s: there is no kind '%s'", object.Name(), kind)}
	}
	var findings []string
	s.check(map[string]any(object), s.definitions[name], object.Name(), &findings)
	return findings
}

// The schema calls a quantity text, and the API server also takes a bare number.
const quantityName = "io.k8s.apimachinery.pkg.api.resource.Quantity"

var quantity = regexp.MustCompile(`^[0-9]+(\.[0-9]+)?(m|k|M|G|T|Ki|Mi|Gi|Ti)?$`)

func (s *Schema) check(value any, schema map[string]any, where string, findings *[]string) {
	found := func(format string, arguments ...any) {
		*findings = append(*findings, where+": "+fmt.Sprintf(format, arguments...))
	}
	if reference := asText(schema["$ref"]); reference != "" {
		name := strings.TrimPrefix(reference, "#/definitions/")
		if name == quantityName {
			if !quantity.MatchString(fmt.Sprint(value)) {
				found("'%v' is no quantity", value)
			}
			return
		}
		schema = s.definitions[name]
	}
	switch schema["type"] {
	case "object":
		s.checkObject(value, schema, where, findings)
	case "array":
		list, ok := value.([]any)
		if !ok {
			found("is no list")
		}
		for i, item := range list {
			s.check(item, asMap(schema["items"]), fmt.Sprintf("%s[%d]", where, i), findings)
		}
	case "string":
		if schema["format"] == "int-or-string" {
			if _, text := value.(string); !text && !whole(value) {
				found("'%v' is neither a whole number nor text", value)
			}
		} else if _, text := value.(string); !text {
			found("'%v' is no text", value)
		}
		if allowed := asList(schema["enum"]); allowed != nil && !contains(allowed, value) {
			found("'%v' is none of %v", value, allowed)
		}
	case "integer":
		if !whole(value) {
			found("'%v' is no whole number", value)
		}
	case "boolean":
		if _, ok := value.(bool); !ok {
			found("'%v' is neither true nor false", value)
		}
	}
}

func (s *Schema) checkObject(value any, schema map[string]any, where string, findings *[]string) {
	fields, ok := value.(map[string]any)
	if !ok {
		*findings = append(*findings, where+": is no object")
		return
	}
	for _, name := range asList(schema["required"]) {
		if _, there := fields[asText(name)]; !there {
			*findings = append(*findings, fmt.Sprintf("%s: %v is missing", where, name))
		}
	}
	properties, additional := asMap(schema["properties"]), asMap(schema["additionalProperties"])
	names := make([]string, 0, len(fields))
	for name := range fields {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		inside := where + "." + name
		switch {
		case properties[name] != nil:
			s.check(fields[name], asMap(properties[name]), inside, findings)
		case additional != nil:
			s.check(fields[name], additional, inside, findings)
		case properties != nil:
			*findings = append(*findings, inside+": there is no such field")
		}
	}
}

func whole(value any) bool {
	switch number := value.(type) {
	case int, int64:
		return true
	case float64:
		return number == math.Trunc(number)
	}
	return false
}

func contains(list []any, value any) bool {
	for _, item := range list {
		if item == value {
			return true
		}
	}
	return false
}
