package github

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestEveryRuleIsAboutSomethingThatGitHubHas finds misspelled rows, and rows that allow more
// than was meant.
func TestEveryRuleIsAboutSomethingThatGitHubHas(t *testing.T) {
	t.Parallel()
	if os.Getenv(openapiEnv) == "" {
		t.Skipf("%s names no file: the tool's rules are not compared with GitHub's OpenAPI description", openapiEnv)
	}
	doc, err := description()
	if err != nil {
		t.Fatal(err)
	}
	variable := regexp.MustCompile(`\{[^}]*\}`)
	for _, allowed := range readRoutes() {
		var found []string
		for path, item := range doc.Paths.Map() {
			rest, ok := strings.CutPrefix(path, "/repos/{owner}/{repo}")
			operation := item.Get
			if !ok || operation == nil || strings.HasSuffix(path, "{base}...{head}") { // named twice
				continue
			}
			if strings.HasPrefix(rest, "/git/") {
				rest = strings.ReplaceAll(rest, "{ref}", "heads/7")
			}
			rest = strings.TrimPrefix(variable.ReplaceAllString(rest, "7"), "/")
			example := target{fakeRepo, nil}
			if rest != "" {
				example.segments = strings.Split(rest, "/")
			}
			if !example.matches(allowed) {
				continue
			}
			found = append(found, path)
			if operation.Responses.Value("202") != nil {
				t.Errorf("%s may be answered by 202, which go-github makes an error", path)
			}
		}
		if len(found) != 1 {
			t.Errorf("%s allows %q, want one operation", allowed, found)
		}
	}
}
