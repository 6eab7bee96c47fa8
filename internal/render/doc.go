// Package render turns the chart and a user's values into manifests, with
// Helm's own engine, so that the output is what Helm gives. It is the only
// package that imports Helm.
//
// Values are processed as in Helm: files and --set are merged ([Inputs]), merged over
// the chart's values.yaml ([Values]), checked against its schema and rendered
// ([Chart]). No cluster is needed.
package render
