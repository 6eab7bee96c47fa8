package promql_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fastmachinelearning/supersonic/promql"
)

func TestParseSelector(t *testing.T) {
	for _, test := range []struct{ name, in, want string }{
		{"nothing", ``, ``},
		{"space", " \t\n", ``},
		{"empty-braces", `{ }`, ``},
		{"one-matcher", `release="sonic"`, `release="sonic"`},
		{"sorted", `release="sonic",namespace="cms"`, `namespace="cms",release="sonic"`},
		{"braces-and-space", " { a=\"b\" , c!=\"d\" } ", `a="b",c!="d"`},
		{"comma-at-the-end", `a="b",`, `a="b"`},
		{"every-operator", `a="1",b!="2",c=~"3.*",d!~"4|5"`, `a="1",b!="2",c=~"3.*",d!~"4|5"`},
		{"matches-the-empty-text", `a=""`, `a=""`},
		{"label-twice", `a=~"x.*",a!="xy"`, `a!="xy",a=~"x.*"`},
		{"label-x", `x="x"`, `x="x"`},
		{"keyword-as-label", `by="a",sum="b"`, `by="a",sum="b"`},
		{"single-quotes", `a='b "c"'`, `a="b \"c\""`},
		{"back-quotes", "a=`b\\c`", `a="b\\c"`},
		{"escapes", `a="b\"c\\d\ne"`, `a="b\"c\\d\ne"`},
		{"brace-in-a-value", `a="b} or vector(1) #"`, `a="b} or vector(1) #"`},
		{"comment-sign-in-a-value", `a="b # c"`, `a="b # c"`},
		{"regular-expression-escape", `a=~"b\\.c"`, `a=~"b\\.c"`},
		{"over-several-lines", "a=\"b\",\n# only ours\nc=\"d\"", `a="b",c="d"`},
		{"utf-8-value", `a="μs"`, `a="μs"`},
		{"utf-8-label", `"app.kubernetes.io/name"="triton"`, `"app.kubernetes.io/name"="triton"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := promql.ParseSelector(test.in)
			if err != nil {
				t.Fatalf("ParseSelector(%q): %v", test.in, err)
			}
			if got.String() != test.want {
				t.Errorf("ParseSelector(%q) = %q, want %q", test.in, got, test.want)
			}
		})
	}
}

func TestParseSelectorRefuses(t *testing.T) {
	const form = `must be label matchers such as release="sonic", got `
	for _, test := range []struct{ name, in, want string }{
		{"no-operator", `release`, form + `"release": 1:8: parse error: unexpected "}" in label matching, expected label matching operator`},
		{"no-quotes", `a=b`, form + `"a=b": 1:3: parse error: unexpected identifier "b" in label matching, expected string`},
		{"quotes-of-a-text-processor", `a=“b”`, form + `"a=“b”": 1:3: parse error: unexpected character inside braces: '“'`},
		{"open-quote", `a="b`, form + `"a=\"b": 1:3: parse error: unterminated quoted string`},
		{"line-break-in-a-value", "a=\"b\nc\"", form + `"a=\"b\nc\"": 1:3: parse error: unterminated quoted string`},
		{"second-line", "a=\"b\",\nc==\"d\"", form + `"a=\"b\",\nc==\"d\"": 2:3: parse error: unexpected "=" in label matching, expected string`},
		{
			"braces-and-space", ` { a="b" c="d" }`,
			form + `" { a=\"b\" c=\"d\" }": 1:10: parse error: unexpected identifier "c" in label matching, expected "," or "}"`,
		},
		{"one-backslash-too-few", `a=~"b\.c"`, form + `"a=~\"b\\.c\"": 1:4: parse error: unknown escape sequence U+002E '.'`},
		{"regular-expression", `a=~"["`, form + "\"a=~\\\"[\\\"\": 1:1: parse error: error parsing regexp: missing closing ]: `[`"},
		{"invalid-utf-8", "a=\"\xff\"", form + `"a=\"\xff\"": 1:3: parse error: invalid UTF-8 rune`},
		{"open-brace", `{`, form + `"{": 1:1: parse error: unexpected end of input inside braces`},
		{"close-brace", `a="b"}`, form + `"a=\"b\"}": 1:7: parse error: unexpected character: '}'`},
		{"comment-at-the-end", `a="b" # ours`, form + `"a=\"b\" # ours": 1:13: parse error: unexpected end of input inside braces`},
		{"second-selector", `a="b"} or up{c="d"`, `must be only label matchers, got "a=\"b\"} or up{c=\"d\""`},
		{"offset", `a="b"} offset 5m #`, `must be only label matchers, got "a=\"b\"} offset 5m #"`},
		{"moment", `{a="b"} @ 5`, `must be only label matchers, got "{a=\"b\"} @ 5"`},
		{"range", `{a="b"}[5m]`, `must be only label matchers, got "{a=\"b\"}[5m]"`},
		{"comment-behind-the-braces", `a="b"}#`, `must be only label matchers, got "a=\"b\"}#"`},
		{"metric", `up{a="b"}`, form + `"up{a=\"b\"}": 1:3: parse error: unexpected left brace '{'`},
		{"metric-as-label", `__name__="up"`, `must not name a metric, got __name__="up"`},
		{"metric-by-expression", `__name__=~"up.*"`, `must not name a metric, got __name__=~"up.*"`},
		{"metric-in-quotes", `"up"`, `must not name a metric, got __name__="up"`},
		{
			"envoy-cluster", `envoy_cluster_name="other"`,
			`must not select the Envoy cluster, which is always triton_grpc_service, got envoy_cluster_name="other"`,
		},
		{
			"several", `__name__="up",envoy_cluster_name!=""`,
			"must not name a metric, got __name__=\"up\"\n" +
				`must not select the Envoy cluster, which is always triton_grpc_service, got envoy_cluster_name!=""`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := promql.ParseSelector(test.in)
			if err == nil {
				t.Fatalf("ParseSelector(%q) = %q, want an error", test.in, got)
			}
			if diff := cmp.Diff(test.want, err.Error()); diff != "" {
				t.Errorf("ParseSelector(%q) error (-want +got):\n%s", test.in, diff)
			}
		})
	}
}

func TestSelectorWith(t *testing.T) {
	base := promql.Selector{}.With("release", "sonic")
	one, other := base.With("a", `say "hi" \o/`), base.With("b", "two\nlines")
	for _, test := range []struct{ got, want string }{
		{base.String(), `release="sonic"`},
		{one.String(), `a="say \"hi\" \\o/",release="sonic"`},
		{other.String(), `b="two\nlines",release="sonic"`},
	} {
		if test.got != test.want {
			t.Errorf("got %s, want %s", test.got, test.want)
		}
	}
	again, err := promql.ParseSelector(one.String())
	if err != nil || !again.Equal(one) {
		t.Errorf("%s reads back as %s, %v", one, again, err)
	}
	if base.Equal(one) || !base.Equal(promql.Selector{}.With("release", "sonic")) {
		t.Error("Equal must tell selectors by their matchers")
	}
}
