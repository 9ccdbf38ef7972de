package githubtest

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// Rule is a rule of a ruleset of its own, for all branches.
type Rule struct {
	Type     string // required_signatures, creation or branch_name_pattern
	Pattern  string // with which a branch_name_pattern wants names to begin
	Bypassed bool   // whether the token may bypass it
}

// AddRule adds a rule. A push that does not obey it is refused.
func (g *GitHub) AddRule(r Rule) {
	g.t.Helper()
	g.mu.Lock()
	g.rules = append(g.rules, r)
	rules := append([]Rule(nil), g.rules...)
	g.mu.Unlock()
	script := "#!/bin/sh\n[ -n \"$REMOTE_USER\" ] || exit 0\nwhile read -r old new ref; do\n\tcase $ref in refs/heads/*) ;; *) continue ;; esac\n"
	for _, r := range rules {
		condition, says := "true", "Commits must have verified signatures."
		switch {
		case r.Bypassed:
			continue
		case r.Type == "creation":
			condition, says = `[ -z "$(echo "$old" | tr -d 0)" ]`, "Cannot create ref due to creations being restricted."
		case r.Type == "branch_name_pattern":
			condition, says = fmt.Sprintf(`! case $ref in "refs/heads/%s"*) ;; *) false ;; esac`, r.Pattern), "Branch name must start with "+r.Pattern
		}
		script += fmt.Sprintf("\tif %s; then\n\t\techo \"error: GH013: Repository rule violations found for $ref.\" >&2\n\t\techo \"- %s\" >&2\n\t\texit 1\n\tfi\n", condition, says)
	}
	g.setHook("pre-receive", script+"done\n")
}

// addRules adds what the API says of the rules.
func (g *GitHub) addRules(root string) {
	g.handle(root, "metadata: read", "GET /rules/branches/{branch...}", func(*http.Request) (int, any) {
		list := []object{}
		for i, r := range g.rules {
			rule := object{"type": r.Type, "ruleset_source_type": "Repository", "ruleset_source": g.Repo(), "ruleset_id": i + 1}
			if r.Type == "branch_name_pattern" {
				rule["parameters"] = object{"operator": "starts_with", "pattern": r.Pattern, "negate": false}
			}
			list = append(list, rule)
		}
		return http.StatusOK, list
	})
	g.handle(root, "metadata: read", "GET /rulesets/{id}", func(r *http.Request) (int, any) {
		id, err := strconv.Atoi(r.PathValue("id"))
		if err != nil || id < 1 || id > len(g.rules) {
			return http.StatusNotFound, object{"message": "Not Found", "documentation_url": "", "status": "404"}
		}
		may := "never"
		if g.rules[id-1].Bypassed {
			may = "always"
		}
		return http.StatusOK, object{
			"id": id, "name": strings.ReplaceAll(g.rules[id-1].Type, "_", " "), "target": "branch", "source_type": "Repository", "source": g.Repo(),
			"enforcement": "active", "current_user_can_bypass": may, "node_id": "RRS_" + strconv.Itoa(id),
		}
	})
}
