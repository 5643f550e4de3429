#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Asks a Prometheus each question of the dashboard and of the alerts.

    evaluate.py ADDRESS DASHBOARD

A query of the dashboard must return data. Alerts compare something with a bound, so what they compare must
return data, and the whole expression must be accepted; the alerts are those that Prometheus has loaded.
Prints a line for each and exits with status 1 if one returns nothing.
"""
import json
import re
import sys
import urllib.parse
import urllib.request

COMPARISON = re.compile(r"^(.*)\s(?:==|>)\s*[0-9.]+$", re.DOTALL)


def ask(address, path, **parameters):
    url = "http://%s/api/v1/%s?%s" % (address, path, urllib.parse.urlencode(parameters))
    with urllib.request.urlopen(url, timeout=20) as answer:
        return json.load(answer)["data"]


def dashboard_queries(file):
    with open(file, encoding="utf-8") as f:
        dashboard = json.load(f)
    for panel in dashboard["panels"]:
        for target in panel.get("targets", []):
            query = target["expr"].replace("$__rate_interval", "10s")
            yield panel["title"], re.sub(r"\$(instance|gpu)\b", ".*", query)
    for variable in dashboard["templating"]["list"]:
        match = re.match(r"label_values\((.*), (\w+)\)$", str(variable.get("definition")))
        if match:
            yield variable["name"], "count by (%s) (%s)" % (match[2], match[1].replace("$instance", ".*"))


def alert_queries(address):
    for group in ask(address, "rules")["groups"]:
        for rule in group["rules"]:
            if rule["health"] == "err":
                sys.exit("%s: %s" % (rule["name"], rule["lastError"]))
            ask(address, "query", query=rule["query"])
            yield rule["name"], COMPARISON.match(rule["query"])[1]


def main():
    address, dashboard = sys.argv[1:]
    empty = 0
    for kind, queries in ("panel", dashboard_queries(dashboard)), ("alert", alert_queries(address)):
        count = 0
        for name, query in queries:
            result = ask(address, "query", query=query)["result"]
            result = [series for series in result if series["value"][1] != "NaN"]
            empty += not result
            count += 1
            print("%s %s: %s%s" % (kind, name, "%d series" % len(result) if result else "NOTHING: " + query,
                                   ", such as %s" % result[0]["value"][1] if result else ""))
        if not count:
            sys.exit("there is no %s" % kind)
    sys.exit(1 if empty else 0)


main()
