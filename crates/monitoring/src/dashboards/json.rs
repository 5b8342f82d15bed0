//! A dashboard in the JSON that Grafana 9 and later import.

use serde_json::{json, Value};
use weir_svg::meaning::{Meaning, DEGRADED, SUSPECTED, WELL};

use super::{Annotation, At, Dashboard, Limits, Panel, Style, Variable};
use crate::rules;

const COLUMNS: u32 = 24;
const ROW_HEIGHT: u32 = 1;
/// Version of the dashboards' schema: Grafana migrates older ones by itself.
const SCHEMA: u32 = 37;

pub(super) fn dashboard(dashboard: &Dashboard, book: &str) -> Value {
    let source = json!({
        "name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus",
        "hide": 0, "includeAll": false, "multi": false,
    });
    let variables: Vec<Value> = std::iter::once(source)
        .chain(dashboard.variables.iter().map(variable))
        .collect();
    json!({
        "uid": dashboard.uid,
        "title": dashboard.title,
        "description": dashboard.description,
        "tags": ["weir"],
        "schemaVersion": SCHEMA,
        "editable": true,
        "graphTooltip": 1,
        "refresh": "10s",
        "time": {"from": "now-30m", "to": "now"},
        "templating": {"list": variables},
        "annotations": {"list": dashboard.annotations().iter().map(annotation).collect::<Vec<_>>()},
        "links": [{
            "type": "dashboards", "title": "Weir", "tags": ["weir"], "asDropdown": true,
            "includeVars": true, "keepTime": true, "icon": "", "targetBlank": false, "tooltip": "",
        }],
        "panels": panels(dashboard, book),
    })
}

fn source() -> Value {
    json!({"type": "prometheus", "uid": "${datasource}"})
}

fn variable(variable: &Variable) -> Value {
    let query = format!("label_values({}, {})", variable.series, variable.name);
    json!({
        "name": variable.name, "label": variable.title, "type": "query", "datasource": source(),
        "query": {"query": query, "refId": variable.name}, "definition": query,
        // On changes of the time range, since ports come and go.
        "refresh": 2, "sort": 3, "hide": 0, "multi": true, "includeAll": true, "allValue": ".*",
        "current": {"text": ["All"], "value": ["$__all"], "selected": true},
    })
}

/// Rows and panels with their positions: from the left, and in the next line if there is no room.
fn panels(dashboard: &Dashboard, book: &str) -> Vec<Value> {
    let mut out = Vec::new();
    let mut top = 0;
    for row in &dashboard.rows {
        out.push(json!({
            "id": out.len() + 1, "type": "row", "title": row.title, "collapsed": false, "panels": [],
            "gridPos": {"x": 0, "y": top, "w": COLUMNS, "h": ROW_HEIGHT},
        }));
        top += ROW_HEIGHT;
        let (mut left, mut height) = (0, 0);
        for entry in &row.panels {
            if left + entry.width > COLUMNS {
                top += height;
                (left, height) = (0, 0);
            }
            let tall = entry.height();
            let mut value = panel(entry, book);
            value["id"] = (out.len() + 1).into();
            value["gridPos"] = json!({"x": left, "y": top, "w": entry.width, "h": tall});
            out.push(value);
            left += entry.width;
            height = height.max(tall);
        }
        top += height;
    }
    out
}

impl Panel {
    fn height(&self) -> u32 {
        if self.style == Style::Number {
            4
        } else {
            8
        }
    }
}

fn annotation(annotation: &Annotation) -> Value {
    json!({
        "name": annotation.name, "enable": true, "iconColor": annotation.color, "datasource": source(),
        "expr": annotation.expression, "titleFormat": annotation.text, "tagKeys": "instance,port,priority",
        "useValueForTime": annotation.at == At::Value,
    })
}

/// Links to the sections of the book with the remedies.
fn links(panel: &Panel, book: &str) -> Vec<Value> {
    let named = |name: &&str| {
        rules::alerts()
            .into_iter()
            .find(|alert| alert.name == *name)
    };
    let link = |alert: rules::Alert| {
        json!({
            "title": format!("What to do: {}", alert.name), "url": format!("{book}/{}", alert.runbook()),
            "type": "link", "tags": [], "icon": "", "tooltip": "", "targetBlank": true, "asDropdown": false,
            "includeVars": false, "keepTime": false,
        })
    };
    panel.alerts.iter().filter_map(named).map(link).collect()
}

fn panel(panel: &Panel, book: &str) -> Value {
    let heatmap = panel.style == Style::Heatmap;
    let number = panel.style == Style::Number;
    let targets: Vec<Value> = panel
        .queries
        .iter()
        .zip('A'..='Z')
        .map(|((expression, legend), letter)| {
            json!({
                "refId": letter.to_string(), "datasource": source(), "expr": expression,
                "legendFormat": legend, "format": if heatmap { "heatmap" } else { "time_series" },
                "range": !number, "instant": number,
            })
        })
        .collect();
    let kind = match panel.style {
        Style::Curves => "timeseries",
        Style::Number => "stat",
        Style::States(_) => "state-timeline",
        Style::Heatmap => "heatmap",
    };
    json!({
        "type": kind, "title": panel.title, "description": panel.description, "datasource": source(),
        "targets": targets,
        "fieldConfig": {"defaults": defaults(panel), "overrides": []},
        "options": options(panel),
        "links": links(panel, book),
    })
}

fn defaults(panel: &Panel) -> Value {
    match panel.style {
        Style::Curves => json!({
            "unit": panel.unit, "min": 0,
            "custom": {"drawStyle": "line", "lineWidth": 1, "fillOpacity": 8, "showPoints": "never", "spanNulls": false},
        }),
        Style::States(meaning) => json!({
            "unit": panel.unit,
            "custom": {"fillOpacity": 80, "lineWidth": 0},
            "color": {"mode": "thresholds"},
            "thresholds": steps(&[(meaning, Some(1.0))]),
        }),
        Style::Number | Style::Heatmap => match panel.limits {
            Some(limits) => json!({
                "unit": panel.unit, "color": {"mode": "thresholds"}, "thresholds": thresholds(limits),
            }),
            None => json!({"unit": panel.unit}),
        },
    }
}

fn thresholds(limits: Limits) -> Value {
    steps(&[(DEGRADED, limits.orange), (SUSPECTED, Some(limits.red))])
}

/// Below all of `above` values are good.
fn steps(above: &[(Meaning, Option<f64>)]) -> Value {
    let mut steps = vec![json!({"color": WELL.light, "value": null})];
    let above = above
        .iter()
        .filter_map(|(meaning, from)| Some((meaning.light, (*from)?)));
    steps.extend(above.map(|(color, from)| json!({"color": color, "value": from})));
    json!({"mode": "absolute", "steps": steps})
}

fn options(panel: &Panel) -> Value {
    match panel.style {
        Style::Curves => json!({
            "legend": {"displayMode": "table", "placement": "bottom", "calcs": ["lastNotNull", "max"]},
            "tooltip": {"mode": "multi", "sort": "desc"},
        }),
        Style::Number => json!({
            "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": false},
            "colorMode": if panel.limits.is_some() { "background" } else { "none" }, "graphMode": "none",
            "textMode": if panel.unit == super::unit::TEXT { "name" } else { "auto" },
        }),
        Style::States(_) => json!({"showValue": "never", "mergeValues": true, "rowHeight": 0.9}),
        Style::Heatmap => json!({
            "calculate": false, "yAxis": {"unit": panel.unit}, "cellGap": 1,
            "color": {"mode": "scheme", "scheme": "Oranges", "steps": 64},
        }),
    }
}
