# Both estimators of crq on tied times: writes data/crq_ties_data.csv, data/crq_ties.csv and
# data/crq_ties_coef.csv. Run in this folder with: Rscript crq_ties.R (R 4.2.2, quantreg 5.94, survival 3.5-3).
# The data are simulated with the structure of quantreg's uis: whole days, of which many are shared
# by events and censored rows, and features with few values.
suppressMessages({library(quantreg); library(survival)})
set.seed(575)
n <- 400
treat <- rep(0:1, length.out = n)
site <- rbinom(n, 1, 0.3)
age <- round(rnorm(n, 32, 6))
earlier <- rpois(n, 3)
recent <- rbinom(n, 1, 0.4)
location <- 4.2 + 0.5 * treat - 0.03 * earlier - 0.2 * recent + 0.02 * (age - 32) * (1 - site) - 0.2 * site
latent <- exp(location + (0.8 + 0.2 * treat) * rnorm(n))
end <- runif(n, 60, 500)
time <- pmax(1, round(pmin(latent, end)))
rows <- data.frame(time, event = as.integer(latent <= end), treat, earlier, recent, age, site)
write.csv(rows, "data/crq_ties_data.csv", row.names = FALSE, quote = FALSE)

digits <- function(frame) format(frame, digits = 12, trim = TRUE)
fitted <- function(method, step, order) {
  formula <- Surv(log(time), event) ~ treat + earlier + recent + age * site
  if (order == "shuffled") { set.seed(1); rows <- rows[sample(n), ] }
  if (is.na(step)) crq(formula, data = rows, method = method)
  else crq(formula, data = rows, method = method, grid = seq(step, 1 - step, step))
}
paths <- NULL
coefficients <- NULL
cases <- rbind(expand.grid(order = "given", step = c(NA, 0.01), method = "Portnoy"),
               expand.grid(order = c("given", "shuffled"), step = c(NA, 0.02), method = "PengHuang"))
for (i in seq_len(nrow(cases))) {
  step <- cases$step[i]
  case <- data.frame(method = cases$method[i], grid = if (is.na(step)) "default" else paste("by", step),
                     order = cases$order[i])
  fit <- fitted(as.character(case$method), step, case$order)
  terms <- t(fit$sol[1:8, ])
  colnames(terms) <- c("tau", "intercept", "treat", "earlier", "recent", "age", "site", "age_site")
  if (case$method == "Portnoy" || !is.na(step)) paths <- rbind(paths, data.frame(case, terms))
  at <- t(coef(fit, taus = 1:4 / 5))
  colnames(at) <- colnames(terms)[-1]
  coefficients <- rbind(coefficients, data.frame(case, tau = 1:4 / 5, at))
}
write.csv(digits(paths), "data/crq_ties.csv", row.names = FALSE, quote = FALSE)
write.csv(digits(coefficients), "data/crq_ties_coef.csv", row.names = FALSE, quote = FALSE)
