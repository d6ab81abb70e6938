"""Files and graphs of estimators made of trees."""
