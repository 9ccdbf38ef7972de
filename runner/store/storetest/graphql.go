package storetest

import (
	"encoding/json"
	"net/http"
	"strings"
)

func objection(text string) (int, any) {
	return http.StatusOK, answer{"data": answer{"updateRefs": nil}, "errors": []any{message(text)}}
}

// postGraphQL knows the one mutation that REST has nothing like: refs are moved
// if each is still where the caller says, by force if he asks for it.
func (h *Hub) postGraphQL(r *http.Request) (int, any) {
	var body struct {
		Query     string
		Variables struct {
			Input struct {
				RepositoryID string `json:"repositoryId"`
				RefUpdates   []struct {
					Name, BeforeOid, AfterOid string
					Force                     bool
				} `json:"refUpdates"`
			}
		}
	}
	if json.NewDecoder(r.Body).Decode(&body) != nil {
		return badJSON()
	}
	if !strings.Contains(body.Query, "updateRefs(input: $input)") || body.Variables.Input.RepositoryID != "R_1" {
		return objection("Could not resolve to a node")
	}
	for _, u := range body.Variables.Input.RefUpdates {
		branch, ok := strings.CutPrefix(u.Name, "refs/heads/")
		switch {
		case h.ruled(branch):
			return objection("Cannot force-push to this branch")
		case !ok || !h.git.move(branch, u.BeforeOid, u.AfterOid, u.Force):
			return objection("The ref is not at beforeOid")
		}
	}
	return http.StatusOK, answer{"data": answer{"updateRefs": answer{"clientMutationId": nil}}}
}
