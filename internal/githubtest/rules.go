package githubtest

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// Rule is a rule of a ruleset of its own, for all branches.
type Rule struct {
	Type     string // required_signatures, creation, branch_name_pattern, update, pull_request or required_status_checks
	Pattern  string // beginning of the names that a branch_name_pattern takes
	TakesNew bool   // required_status_checks holds only for branches that exist
	Bypassed bool   // the token may bypass it
}

// isUpdate is a condition of the shell: the branch exists.
const isUpdate = `[ -n "$(echo "$old" | tr -d 0)" ]`

// rules has the rules of the repository.
type rules struct {
	*server
	list []Rule
}

// AddRule adds a rule. A push that does not obey it is refused.
func (g *rules) AddRule(r Rule) {
	g.t.Helper()
	g.mu.Lock()
	g.list = append(g.list, r)
	all := append([]Rule(nil), g.list...)
	g.mu.Unlock()
	script := "#!/bin/sh\n[ -n \"$REMOTE_USER\" ] || exit 0\nwhile read -r old new ref; do\n\tcase $ref in refs/heads/*) ;; *) continue ;; esac\n"
	for _, r := range all {
		condition, says := "true", "Commits must have verified signatures."
		switch {
		case r.Bypassed:
			continue
		case r.Type == "creation":
			condition, says = `[ -z "$(echo "$old" | tr -d 0)" ]`, "Cannot create ref due to creations being restricted."
		case r.Type == "update":
			condition, says = isUpdate, "Cannot update this protected ref."
		case r.Type == "pull_request":
			condition, says = isUpdate, "Changes must be made through a pull request."
		case r.Type == "required_status_checks":
			says = "Required status check 'test' is expected."
			if r.TakesNew {
				condition = isUpdate
			}
		case r.Type == "branch_name_pattern":
			condition, says = fmt.Sprintf(`! case $ref in "refs/heads/%s"*) ;; *) false ;; esac`, r.Pattern), "Branch name must start with "+r.Pattern
		}
		script += fmt.Sprintf("\tif %s; then\n\t\techo \"error: GH013: Repository rule violations found for $ref.\" >&2\n\t\techo \"- %s\" >&2\n\t\texit 1\n\tfi\n", condition, says)
	}
	g.setHook("pre-receive", script+"done\n")
}

// addRules adds what the API says of the rules.
func (g *rules) addRules() {
	g.handle("metadata: read", "GET /rules/branches/{branch...}", func(*http.Request) (int, any) {
		list := []object{}
		for i, r := range g.list {
			rule := object{"type": r.Type, "ruleset_source_type": "Repository", "ruleset_source": g.Repo(), "ruleset_id": i + 1}
			switch r.Type {
			case "branch_name_pattern":
				rule["parameters"] = object{"operator": "starts_with", "pattern": r.Pattern, "negate": false}
			case "required_status_checks":
				rule["parameters"] = object{
					"required_status_checks": []object{{"context": "test"}}, "strict_required_status_checks_policy": false, "do_not_enforce_on_create": r.TakesNew,
				}
			case "pull_request":
				rule["parameters"] = object{
					"dismiss_stale_reviews_on_push": false, "require_code_owner_review": false, "require_last_push_approval": false,
					"required_approving_review_count": 1, "required_review_thread_resolution": false,
				}
			}
			list = append(list, rule)
		}
		return http.StatusOK, list
	})
	g.handle("metadata: read", "GET /rulesets/{id}", func(r *http.Request) (int, any) {
		id, err := strconv.Atoi(r.PathValue("id"))
		if err != nil || id < 1 || id > len(g.list) {
			return http.StatusNotFound, object{"message": "Not Found", "documentation_url": "", "status": "404"}
		}
		may := "never"
		if g.list[id-1].Bypassed {
			may = "always"
		}
		return http.StatusOK, object{
			"id": id, "name": strings.ReplaceAll(g.list[id-1].Type, "_", " "), "target": "branch", "source_type": "Repository", "source": g.Repo(),
			"enforcement": "active", "current_user_can_bypass": may, "node_id": "RRS_" + strconv.Itoa(id),
		}
	})
}
