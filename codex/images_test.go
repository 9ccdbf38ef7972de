package codex

import (
	"encoding/json"
	"testing"
)

func TestATurnNamesTheFilesOfItsImages(t *testing.T) {
	t.Parallel()
	var input json.RawMessage
	s, _ := begin(t, Options{}, func(p *fakeServer) {
		p.handshake()
		m := p.expect("turn/start")
		input = members(m.Params).member("input")
		p.reply(m, started)
		p.send(completed)
		p.drain()
	})
	if _, err := s.Turn(t.Context(), Input{Text: "Look.", Images: []string{"/p/1.png", "/p/2.gif"}}); err != nil {
		t.Fatal(err)
	}
	s.Close()
	if want := `[{"text":"Look.","type":"text"},{"path":"/p/1.png","type":"localImage"},{"path":"/p/2.gif","type":"localImage"}]`; string(input) != want {
		t.Errorf("the input is %s", input)
	}
}

func TestAModelTakesImagesUnlessTheServerSaysThatItDoesNot(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		models string // empty for a server without a list
		want   bool
	}{
		"text alone":        {`{"data":[{"id":"x","model":"x","inputModalities":["text","image"]},{"id":"gpt-5","model":"gpt-5","inputModalities":["text"]}]}`, false},
		"both":              {`{"data":[{"id":"gpt-5","model":"gpt-5","inputModalities":["text","image"]}]}`, true},
		"an older server":   {`{"data":[{"id":"gpt-5","model":"gpt-5"}]}`, true},
		"a model of others": {`{"data":[{"id":"x","model":"x","inputModalities":["text"]}]}`, true},
		"no list":           {"", true},
	} {
		s, _ := begin(t, Options{}, func(p *fakeServer) {
			p.hello()
			p.reply(p.expect("thread/start"), `{"thread":{"id":"thread-1"},"model":"gpt-5","activePermissionProfile":{"id":":read-only"}}`)
			if m := p.expect("model/list"); test.models == "" {
				p.refuse(m, -32601, "unknown method")
			} else {
				p.reply(m, test.models)
			}
			p.drain()
		})
		if model, takes := s.TakesImages(t.Context()); model != "gpt-5" || takes != test.want {
			t.Errorf("%s: %q, %t", name, model, takes)
		}
		s.Close()
	}
}
