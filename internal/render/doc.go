// Package render turns the chart and a user's values into manifests, with
// Helm's own engine, so that the output is what Helm gives. It is the only
// package that imports Helm.
//
// The way of the values is Helm's: files and --set are merged ([Inputs]), laid
// over the chart's values.yaml ([Values]), checked against its schema and
// rendered ([Chart]). No cluster is asked for anything.
package render
