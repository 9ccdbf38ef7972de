package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// board is a Linear project with n issues, served over HTTP. Its answers are made
// beforehand, because the server shares the machine with the program that is
// measured; what an answer must look like is the business of tracker/linear's
// own tests. POST /done/ENG-1 moves that issue to Done.
type board struct {
	*httptest.Server
	todo, done [][]byte       // the node of each issue
	number     map[string]int // of the issue, by id and by identifier

	mu       sync.Mutex
	ended    []bool
	requests int
	lastDone time.Time
}

func newBoard(b *testing.B, n int) *board {
	b.Helper()
	l := &board{number: map[string]int{}, ended: make([]bool, n)}
	for i := range n {
		id, identifier := fmt.Sprintf("5b2f7d3e-0000-4000-8000-%012d", i), fmt.Sprintf("ENG-%d", i)
		l.number[id], l.number[identifier] = i, i
		l.todo = append(l.todo, boardNode(b, id, identifier, "Todo"))
		l.done = append(l.done, boardNode(b, id, identifier, "Done"))
	}
	l.Server = httptest.NewServer(l)
	b.Cleanup(l.Close)
	return l
}

func boardNode(b *testing.B, id, identifier, state string) []byte {
	page := func(nodes ...any) any {
		return map[string]any{"nodes": append([]any{}, nodes...), "pageInfo": map[string]any{"hasNextPage": false, "endCursor": nil}}
	}
	node, err := json.Marshal(map[string]any{
		"id": id, "identifier": identifier, "title": "An issue", "description": strings.Repeat("Please. ", 40), "priority": 2,
		"branchName": "kim/" + strings.ToLower(identifier), "url": "https://linear.app/acme/issue/" + identifier,
		"createdAt": "2026-01-02T03:04:05.678Z", "updatedAt": "2026-01-02T03:04:05.678Z", "trashed": nil,
		"state": map[string]any{"name": state}, "assignee": nil, "team": map[string]any{"id": "team-eng", "key": "ENG"},
		"labels": page(map[string]any{"name": "backend"}, map[string]any{"name": "symphony"}), "inverseRelations": page(),
		"attachments": map[string]any{"nodes": []any{}},
	})
	if err != nil {
		b.Fatal(err)
	}
	return node
}

// reset moves every issue back to Todo and forgets what was counted.
func (l *board) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.ended)
	l.requests = 0
}

// result returns the number of GraphQL requests, the number of issues that are
// done, and when the last of them became so.
func (l *board) result() (requests, done int, last time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, ended := range l.ended {
		if ended {
			done++
		}
	}
	return l.requests, done, l.lastDone
}

func (l *board) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if identifier, ok := strings.CutPrefix(r.URL.Path, "/done/"); ok {
		l.ended[l.number[identifier]] = true
		l.lastDone = time.Now()
		return
	}
	l.requests++
	var question struct {
		Query     string
		Variables struct {
			IDs   []string
			After string
		}
	}
	if err := json.NewDecoder(r.Body).Decode(&question); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var answer bytes.Buffer
	answer.WriteString(`{"data":{`)
	if strings.Contains(question.Query, "projects(") {
		answer.WriteString(`"projects":{"nodes":[{"teams":{"nodes":[{"states":{"nodes":[{"name":"Todo"},{"name":"In Progress"},{"name":"Done"}],` +
			`"pageInfo":{"hasNextPage":false,"endCursor":null}}}],"pageInfo":{"hasNextPage":false,"endCursor":null}}}],` +
			`"pageInfo":{"hasNextPage":false,"endCursor":null}},`)
	}
	answer.WriteString(`"issues":{"nodes":[`)
	more, cursor := l.writeNodes(&answer, question.Variables.IDs, question.Variables.After)
	fmt.Fprintf(&answer, `],"pageInfo":{"hasNextPage":%t,"endCursor":"%d"}}}}`, more, cursor)
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Write(answer.Bytes())
}

// writeNodes writes the issues of these ids, or without any a page of the list of
// those that are not done, which begins at a cursor.
func (l *board) writeNodes(answer *bytes.Buffer, ids []string, after string) (more bool, cursor int) {
	const pageSize = 50
	written := 0
	write := func(node []byte) {
		if written++; written > 1 {
			answer.WriteByte(',')
		}
		answer.Write(node)
	}
	for _, id := range ids {
		i := l.number[id]
		if l.ended[i] {
			write(l.done[i])
		} else {
			write(l.todo[i])
		}
	}
	if ids != nil {
		return false, 0
	}
	cursor, _ = strconv.Atoi(after)
	for ; cursor < len(l.todo); cursor++ {
		if l.ended[cursor] {
			continue
		}
		if written == pageSize {
			return true, cursor
		}
		write(l.todo[cursor])
	}
	return false, cursor
}
